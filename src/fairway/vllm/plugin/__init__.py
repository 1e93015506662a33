"""The policies in a real server: what ``--scheduler-cls fairway.vllm.plugin.FairwayScheduler`` names.

Importing this costs little and needs no vLLM; everything that does is imported once the installed version is checked.
"""

from __future__ import annotations

from typing import Any

from fairway.vllm.plugin.needed import NEEDED_BY_PLUGIN
from fairway.vllm.plugin.settings import PluginSettings
from fairway.vllm.versions import check_version


class FairwayScheduler:
    """vLLM's scheduler under a policy: synchronous or asynchronous, as vLLM itself would choose.

    Settings stand under the key ``fairway`` of vLLM's ``--additional-config``, see `PluginSettings`. Raises
    `InputError` for settings, policies and versions of vLLM that it cannot work with, before the server serves.
    """

    def __new__(cls, *, vllm_config: Any, **arguments: Any) -> Any:
        """Return a scheduler of vLLM's own kind; this class is only its name on the command line."""
        settings = PluginSettings.of(vllm_config.additional_config)
        check_version(NEEDED_BY_PLUGIN, forced=settings.force_version)
        from fairway.vllm.plugin.schedulers import AsyncPolicyScheduler, PolicyScheduler  # only now, see above

        kind = AsyncPolicyScheduler if vllm_config.scheduler_config.async_scheduling else PolicyScheduler
        return kind(vllm_config=vllm_config, **arguments)

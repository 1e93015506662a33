"""The plugin's scheduler without a model, as an engine that can stand in for `VllmEngine`."""

from typing import Any

import fairway.vllm.engine as vllm_engine
from fairway.policies import make_policy
from fairway.vllm.build import build_scheduler
from fairway.vllm.engine import VllmEngine
from fairway.vllm.plugin import clock
from fairway.vllm.plugin.ordering import Ordering
from fairway.vllm.plugin.schedulers import OrderedByPolicy
from fairway.vllm.scheduler import LoggedScheduler


class LoggedPlugin(OrderedByPolicy, LoggedScheduler):
    """The plugin on the scheduler that writes evictions down."""


def plugin_engine(monkeypatch, settings: dict[str, Any]):
    """Return a class like `VllmEngine` whose ordering is the plugin's, from ``settings``, by the engine's clock."""

    class PluginEngine(VllmEngine):
        def __init__(self, policy, limits, observe_hook=None, prefill_time=None, *, hooked=True, **_):
            def build(_, limits):
                return build_scheduler(LoggedPlugin, limits, {"fairway": {"policy": policy.name} | settings})

            monkeypatch.setattr(Ordering, "_knows_hits", True)  # a policy that asks for no hits has none
            with monkeypatch.context() as patch:
                patch.setattr(vllm_engine, "build_scheduler", build)
                super().__init__(make_policy("fcfs"), limits, hooked=False)
            walk = Ordering._walk

            def observed(one: Ordering, queue, view):
                if observe_hook is not None:
                    observe_hook(self._steps - 1, view, one.policy)
                return walk(one, queue, view)

            monkeypatch.setattr(Ordering, "_walk", observed)

        def schedule(self, now_ns):
            monkeypatch.setattr(clock, "time_ns", lambda: now_ns)
            return super().schedule(now_ns)

    return PluginEngine

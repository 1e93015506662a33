"""What an operator may set: the key ``fairway`` of vLLM's ``--additional-config``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache, partial
from typing import Any, NoReturn, Self

from fairway.engine import EVENTS, PrefillTime, refuse_unsupported
from fairway.errors import InputError
from fairway.policies import Policy, make_policy
from fairway.profile import Profile, load_profile

KEY = "fairway"
ORDERING_FAILED = "ordering failed"  # how the log line begins that says so
_REMEMBERED_TIMES = 1 << 16
_KINDS: dict[str, tuple[type, str]] = {
    "policy": (str, "the name of a policy"),
    "parameters": (Mapping, 'an object of the policy\'s parameters, such as {"fast_weight": 4}'),
    "profile": (str, "a file or the name of a shipped profile"),
    "shadow": (bool, "true or false"),
    "check_hits_every": (int, "a number of steps, 0 for never"),
    "time_steps": (bool, "true or false"),
    "force_version": (bool, "true or false"),
}


@dataclass(frozen=True)
class PluginSettings:
    """One server's settings.

    ``profile`` is a file (``.toml`` or ``.json``) or the name of a shipped one: it gives ``T(n, h)``. ``shadow``
    computes the order and changes nothing. ``check_hits_every`` so many steps all hits are held against vLLM's own
    look-up, for debugging. ``time_steps`` holds the time of each step against the profile. ``force_version`` lets an
    untested version of vLLM through in which no name that is used is missing.
    """

    policy: str = "fairway"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    profile: str = "a6000-llama-3.1-8b-modelled"
    shadow: bool = False
    check_hits_every: int = 0
    time_steps: bool = False
    force_version: bool = False

    def __post_init__(self) -> None:
        for name, (kind, what) in _KINDS.items():
            value = getattr(self, name)
            if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
                _refuse(f"{name} is {value!r}", f"give {what}")
        if self.check_hits_every < 0:
            _refuse(f"check_hits_every is {self.check_hits_every}", "give a number of steps, 0 for never")

    @classmethod
    def of(cls, additional_config: Any) -> Self:
        """Return the settings in vLLM's additional configuration, defaults where there are none."""
        found = additional_config.get(KEY, {}) if isinstance(additional_config, Mapping) else {}
        known = [one.name for one in fields(cls)]
        if not isinstance(found, Mapping):
            _refuse(f"is {found!r}", f"give an object with some of {', '.join(known)}")
        unknown = sorted(set(found) - set(known))
        if unknown:
            _refuse(f"has the unknown key {unknown[0]!r}", f"the keys are {', '.join(known)}")
        return cls(**found)

    def make_policy(self) -> Policy:
        """Return a new policy; raises `InputError` for what the registry or a live server refuses."""
        policy = make_policy(self.policy, **self.parameters)
        refuse_unsupported(policy, EVENTS)
        return policy

    def load_profile(self) -> Profile:
        """Return the profile; raises `InputError` if there is none."""
        return load_profile(self.profile)


def prefill_time(profile: Profile, budget_tokens: int) -> PrefillTime:
    """Return ``T(n, h)`` in ns, which remembers its latest answers."""
    return lru_cache(maxsize=_REMEMBERED_TIMES)(partial(profile.prefill_ns, budget_tokens=budget_tokens))


def _refuse(problem: str, remedy: str) -> NoReturn:
    raise InputError(f"--additional-config, key {KEY!r}: {problem}", remedy=remedy)

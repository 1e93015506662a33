"""What an operator may set: the key ``fairway`` of vLLM's ``--additional-config``."""

from __future__ import annotations

import difflib
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
_A_SLIP = 0.75  # so alike is a key that is meant to be ours, such as fairwy, Fairway or fair-way
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
        others = additional_config if isinstance(additional_config, Mapping) else {}
        found = others.get(KEY, {})
        known = [one.name for one in fields(cls)]
        # Other keys are other plugins'; one that is nearly ours would leave its settings unread, without a word.
        slips = [] if KEY in others else [key for key in map(str, others) if _is_a_slip(key)]
        if slips:
            _refuse(f"is missing, and there is {slips[0]!r}", "write it as " + KEY)
        outside = [name for name in known if KEY not in others and name in others]
        if outside:
            _refuse(f"is missing, and there is {outside[0]!r} beside it", f'give {{"{KEY}": {{"{outside[0]}": ...}}}}')
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


def _is_a_slip(key: str) -> bool:
    return difflib.SequenceMatcher(None, key.lower(), KEY).ratio() >= _A_SLIP


def _refuse(problem: str, remedy: str) -> NoReturn:
    raise InputError(f"--additional-config, key {KEY!r}: {problem}", remedy=remedy)

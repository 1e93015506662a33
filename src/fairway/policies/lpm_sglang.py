"""Longest prefix match as SGLang ships it: siblings of a cold prefix wait, and long queues are left as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fairway.policies.base import Capability, Column
from fairway.policies.registry import register
from fairway.policies.remembering import StandingList
from fairway.policies.rules import Rule, RulePolicy


@dataclass(frozen=True)
class SglangParameters:
    """SGLang's two constants: up to where a hit counts as cold, and up to where a queue is sorted."""

    cold_hit_tokens: int = 32
    most_sorted: int = 128

    def __post_init__(self) -> None:
        for name in ("cold_hit_tokens", "most_sorted"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"{name} must be a whole number from 0 on, not {value!r}")


class LpmSglang(RulePolicy):
    """Order a list of requests that lives on from hook to hook, as SGLang's waiting queue does.

    A sibling of a cold request goes to the back, since it could soon hit what that one computes; see `StandingList`.

    Source: SGLang's ``schedule_policy.py``. It matches all tokens but the last of a prompt, hence no siblings among
    prompts of 32 tokens. Cost: one pass over the queue and a sort.
    """

    columns: ClassVar[frozenset[Column]] = frozenset({Column.HIT_TOKENS})
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.ON_HOOK})

    def __init__(self, **parameters: Any) -> None:
        self.parameters = SglangParameters(**parameters)

    def rule(self) -> Rule:
        """Return the list that lives on."""
        return StandingList(self.parameters.cold_hit_tokens, self.parameters.most_sorted)


register("lpm-sglang", LpmSglang)

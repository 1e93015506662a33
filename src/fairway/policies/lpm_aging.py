"""Longest prefix match that ages: every hook waited counts as some more cached tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fairway.policies.base import Capability
from fairway.policies.registry import register
from fairway.policies.remembering import ByCountedScore
from fairway.policies.rules import Rule, RulePolicy
from fairway.policies.score import Score


def aged_length(hit_tokens: Any, hooks_waited: Any, tokens_per_hook: Any) -> Any:
    """Return ``h + tokens_per_hook * hooks waited``."""
    return hit_tokens + tokens_per_hook * hooks_waited


@dataclass(frozen=True)
class AgingParameters:
    """How many cached tokens a hook counts as that saw the request and did not admit it."""

    tokens_per_hook: int = 64

    def __post_init__(self) -> None:
        if isinstance(self.tokens_per_hook, bool) or not isinstance(self.tokens_per_hook, int):
            raise ValueError(f"tokens_per_hook must be a whole number, not {self.tokens_per_hook!r}")
        if self.tokens_per_hook < 0:
            raise ValueError(f"tokens_per_hook must be at least 0, not {self.tokens_per_hook}")


class LpmAging(RulePolicy):
    """Order by aged length, highest first, ties by arrival. The first hook that sees a request finds it not aged.

    Source: SGLang pull request 31723. Cost: one pass over the queue.
    """

    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.ON_HOOK})

    def __init__(self, **parameters: Any) -> None:
        self.parameters = AgingParameters(**parameters)

    def rule(self) -> Rule:
        """Return the order by falling aged length."""
        return ByCountedScore(Score(aged_length, (self.parameters.tokens_per_hook,)))


register("lpm-aging", LpmAging)

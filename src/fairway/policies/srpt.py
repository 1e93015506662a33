"""Shortest remaining prefill first: the lower end for the median."""

from __future__ import annotations

from typing import Any

from fairway.policies.registry import register
from fairway.policies.rules import ByScore, Rule, RulePolicy
from fairway.policies.score import Score


def shortness(uncached_tokens: Any) -> Any:
    """Return ``-c``."""
    return -uncached_tokens


class Srpt(RulePolicy):
    """Order by uncached tokens, fewest first. Cost: one pass over the queue."""

    def rule(self) -> Rule:
        """Return the order by rising uncached tokens."""
        return ByScore(Score(shortness))


register("srpt", Srpt)

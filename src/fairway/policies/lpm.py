"""Longest prefix match first, in its pure form."""

from __future__ import annotations

from typing import Any

from fairway.policies.registry import register
from fairway.policies.rules import ByScore, Rule, RulePolicy
from fairway.policies.score import Score


def cached_length(hit_tokens: Any) -> Any:
    """Return ``h``."""
    return hit_tokens


LONGEST_HIT = ByScore(Score(cached_length))


class Lpm(RulePolicy):
    """Order by cached prefix, longest first. Source: SGLang's ``lpm``. Cost: one pass over the queue."""

    def rule(self) -> Rule:
        """Return the order by falling hit."""
        return LONGEST_HIT


register("lpm", Lpm)

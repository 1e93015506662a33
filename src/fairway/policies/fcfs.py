"""First come, first served: vLLM's default."""

from __future__ import annotations

from typing import ClassVar

from fairway.policies.base import Column
from fairway.policies.registry import register
from fairway.policies.rules import ByArrival, Rule, RulePolicy


class Fcfs(RulePolicy):
    """Order by arrival. Cost: none."""

    columns: ClassVar[frozenset[Column]] = frozenset()

    def rule(self) -> Rule:
        """Return the order by arrival."""
        return ByArrival()


register("fcfs", Fcfs)

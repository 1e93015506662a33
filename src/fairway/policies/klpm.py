"""k-LPM: longest prefix first, but every k-th admission takes the oldest request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairway.policies.base import Capability
from fairway.policies.lpm import LONGEST_HIT
from fairway.policies.registry import register_family
from fairway.policies.rules import EveryK, Rule, RulePolicy


@dataclass
class KLpm(RulePolicy):
    """Position j takes the oldest request left if ``(g + j + 1) mod k = 0``, else the longest hit, ties by arrival.

    ``g`` counts admissions and outlives the step. With k = 1 this is ``fcfs``, with k above g plus the queue's length
    it is ``lpm``. Source: arXiv 2502.04677, Algorithm 1. Cost: one pass over the queue.
    """

    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.ON_ADMIT})
    k: int

    def __post_init__(self) -> None:
        if type(self.k) is not int or self.k < 1:
            raise ValueError(f"k must be a whole number of at least 1, not {self.k!r}")

    def rule(self) -> Rule:
        """Return longest prefix first with the oldest at every k-th turn."""
        return EveryK(self.k, best=LONGEST_HIT)


register_family("klpm", KLpm, parameter="k", shown=(4, 8))

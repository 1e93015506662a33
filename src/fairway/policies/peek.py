"""PEEK-like: the prefill time that the cache saves first, and a cache that spares what the queue's head needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairway.policies.base import Capability, Column
from fairway.policies.registry import PolicyFactory, register
from fairway.policies.rules import ByScore, Rule, RulePolicy
from fairway.policies.score import Score


def saved_time(prefill_ns: Any, remaining_ns: Any, wait_ns: Any, alpha: Any) -> Any:
    """Return ``max(0, T(n, 0) - T(n, h)) + alpha * w``: whole ns, if ``alpha`` is whole."""
    return np.maximum(0, prefill_ns - remaining_ns) + alpha * wait_ns


@dataclass(frozen=True)
class PeekParameters:
    """``alpha`` weighs the wait against the saved time (0: no fairness term); ``spared`` requests keep their hits."""

    alpha: float = 0
    spared: int = 128

    def __post_init__(self) -> None:
        if isinstance(self.alpha, bool) or not isinstance(self.alpha, int | float) or not 0 <= self.alpha < np.inf:
            raise ValueError(f"alpha must be a number from 0 on, not {self.alpha!r}")
        if isinstance(self.spared, bool) or not isinstance(self.spared, int) or self.spared < 0:
            raise ValueError(f"spared must be a whole number from 0 on, not {self.spared!r}")


class Peek(RulePolicy):
    """Order by saved prefill time, most first, ties by arrival; the cache spares the hits of the first 128.

    "PEEK-like": only a description is public. It also speaks of a term for fairness, which is ``alpha`` here. Cost: one
    pass over the queue.
    """

    columns: ClassVar[frozenset[Column]] = frozenset({Column.HIT_TOKENS, Column.REMAINING_NS})
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.VICTIM_RANK})

    def __init__(self, **parameters: Any) -> None:
        self.parameters = PeekParameters(**parameters)
        self.spared = self.parameters.spared

    def rule(self) -> Rule:
        """Return the order by falling saved time."""
        return ByScore(Score(saved_time, (self.parameters.alpha,)))


def _preset(**presets: Any) -> PolicyFactory:
    return lambda **changes: Peek(**{**presets, **changes})


register("peek", Peek)
register("peek-fair", _preset(alpha=1))

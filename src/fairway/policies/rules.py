"""The few rules that orders are made of: by arrival, by score, every k-th the oldest, two lanes with ledgers.

A rule is data: a policy names one, an engine may interpret it in its own way. Here is the definition: positions,
lazily. What a rule counts beyond a step is the policy's admissions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fairway.policies.base import Policy, QueueView
from fairway.policies.score import Score

FIRST_BATCH = 16  # a step admits a few requests; more are sorted only when asked for
BATCH_GROWTH = 4


class Rule(ABC):
    """An order of a queue, as data."""

    @abstractmethod
    def order(self, view: QueueView, admissions: int = 0) -> Iterator[int]:
        """Yield every position of ``view`` once; ``admissions`` is how many requests were admitted before."""


class RulePolicy(Policy):
    """A policy that is nothing but a rule.

    With the capability ``ON_ADMIT`` it counts admissions, for rules that depend on them.
    """

    admissions: int = 0

    @abstractmethod
    def rule(self) -> Rule:
        """Return the rule: the same at every step."""

    def order(self, view: QueueView) -> Iterator[int]:
        """Yield the positions in the rule's order."""
        return self.rule().order(view, self.admissions)

    def on_admit(self, request_id: int) -> None:
        """Count an admission."""
        self.admissions += 1


@dataclass(frozen=True)
class ByArrival(Rule):
    """First come, first served."""

    def order(self, view: QueueView, admissions: int = 0) -> Iterator[int]:
        """Yield 0, 1, 2, ...: a view is in order of (arrival, id)."""
        return iter(range(len(view)))


@dataclass(frozen=True)
class ByScore(Rule):
    """Highest score first, ties by (arrival, id).

    Cost: one pass over the queue for the first few positions, a few more where a step asks for more.
    """

    score: Score

    def order(self, view: QueueView, admissions: int = 0) -> Iterator[int]:
        """Yield positions by falling score."""
        return descending(self.score.of(view))


@dataclass(frozen=True)
class EveryK(Rule):
    """Position j takes the oldest request left if ``(g + j + 1) % k == 0``, else the first one left of ``best``.

    ``g`` counts the requests admitted before.

    Source: k-LPM, arXiv 2502.04677, Algorithm 1.
    """

    k: int
    best: Rule

    def order(self, view: QueueView, admissions: int = 0) -> Iterator[int]:
        """Yield positions, the oldest at every k-th turn."""
        taken: set[int] = set()
        oldest, best = _untaken(iter(range(len(view))), taken), _untaken(self.best.order(view, admissions), taken)
        for turn in range(admissions + 1, admissions + 1 + len(view)):
            position = next(oldest if turn % self.k == 0 else best)
            taken.add(position)
            yield position


@dataclass(frozen=True)
class TwoLanes(Rule):
    """Merge a fast lane and a fair lane (by arrival) over one queue, by ledgers of work that start anew in every step.

    A lane's ledger starts at the work of its head. The lane with the smaller ledger (a tie: the fast one) releases its
    head and is charged the released request's work; the other lane then skips that request. The fast lane's work counts
    ``fast_weight`` times. Work is uncached tokens, at least 1.

    ``charge="next"`` charges the lane's next head instead of the released request. ``fair_restarts=True`` restarts the
    fair ledger at its new head's work when the fast lane has released its head. Both are readings that the source
    leaves open; the defaults are those of the worked example.
    """

    fast: Rule
    fast_weight: float = 4
    charge: Literal["released", "next"] = "released"
    fair_restarts: bool = False

    def order(self, view: QueueView, admissions: int = 0) -> Iterator[int]:
        """Yield positions in order of release."""
        if not len(view):
            return
        work = np.maximum(view.uncached_tokens, 1)
        taken: set[int] = set()
        fast = _Lane(self.fast.order(view, admissions), taken, work, self.fast_weight)
        fair = _Lane(iter(range(len(view))), taken, work, 1)
        while fast.head is not None and fair.head is not None:
            lane, other = (fast, fair) if fast.ledger <= fair.ledger else (fair, fast)
            released = lane.head
            assert released is not None
            taken.add(released)
            yield released
            lane.advance()
            lane.ledger += lane.work_of(released if self.charge == "released" else lane.head)
            if other.head == released:
                other.advance()
                if other is fair and self.fair_restarts:
                    fair.ledger = fair.work_of(fair.head)


class _Lane:
    """One lane's state within a step: its head and its ledger."""

    def __init__(self, positions: Iterator[int], taken: set[int], work: npt.NDArray[np.int64], weight: float) -> None:
        self._positions = _untaken(positions, taken)
        self._work = work
        self._weight = weight
        self.head = next(self._positions, None)
        self.ledger = self.work_of(self.head)

    def work_of(self, position: int | None) -> float:
        """Return what a request charges to this lane; an empty lane is charged nothing."""
        return 0 if position is None else self._weight * int(self._work[position])

    def advance(self) -> None:
        """Move to the next request that no lane has released."""
        self.head = next(self._positions, None)


def _untaken(positions: Iterator[int], taken: set[int]) -> Iterator[int]:
    """Skip what has been taken by the time it is asked for."""
    return (position for position in positions if position not in taken)


def descending(key: npt.NDArray[Any]) -> Iterator[int]:
    """Yield positions of ``key`` by falling value, equal values by rising position.

    Cost: O(len(key)) for the first few; each further batch is four times as large.
    """
    left = np.arange(len(key))
    batch = FIRST_BATCH
    while len(left) > batch:
        keys = key[left]
        cut = np.partition(keys, len(keys) - batch)[len(keys) - batch]
        ahead = keys >= cut
        yield from _sorted_descending(key, left[ahead])
        left = left[~ahead]
        batch *= BATCH_GROWTH
    yield from _sorted_descending(key, left)


def _sorted_descending(key: npt.NDArray[Any], positions: npt.NDArray[np.intp]) -> list[int]:
    """Sort rising ``positions`` by falling key; stable, so ties stay in order of position."""
    order: list[int] = positions[np.argsort(-key[positions], kind="stable")].tolist()
    return order

"""The few rules that orders are made of: by arrival, by score, every k-th the oldest, two lanes with ledgers.

A rule is data: a policy names one, an engine may interpret it in its own way. Here is the definition: positions,
lazily. What a rule knows beyond a step is its memory; `remembering` has the rules that know more than admissions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from operator import attrgetter
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from fairway.policies.base import Policy, QueueView
from fairway.policies.score import Score

FIRST_BATCH = 16  # a step admits a few requests; more are sorted only when asked for
BATCH_GROWTH = 4
GROUPS_OF_A_BATCH = 4
SORTED_AT_ONCE = 256  # the sort of so few costs less than to find the first ones


class Memory:
    """What a rule knows beyond a view. This one counts admissions; it hears what a policy hears."""

    def __init__(self) -> None:
        self.admissions = 0

    def on_hook(self, view: QueueView) -> None:
        """Hear of a hook, before its order is asked for."""

    def on_admit(self, request_id: int) -> None:
        """Count an admission."""
        self.admissions += 1

    def on_step(self, executed_tokens: int) -> None:
        """Hear of a step's tokens."""


class Rule(ABC):
    """An order of a queue, as data."""

    @abstractmethod
    def order(self, view: QueueView, memory: Any = None) -> Iterator[int]:
        """Yield positions of ``view``, each at most once; ``memory`` is one that `new_memory` made, None a new one."""

    def new_memory(self) -> Memory:
        """Return what the rule knows before anything has happened."""
        return Memory()


class RulePolicy(Policy):
    """A policy that is nothing but a rule. It declares of what the rule's memory has to hear.

    With the capability ``VICTIM_RANK`` the hits of the first ``spared`` of the order are given up last.
    """

    spared: int = 0

    @abstractmethod
    def rule(self) -> Rule:
        """Return the rule: the same at every step."""

    @cached_property
    def memory(self) -> Memory:
        """What the rule remembers."""
        return self.rule().new_memory()

    def order(self, view: QueueView) -> Iterator[int]:
        """Yield the positions in the rule's order."""
        return self.rule().order(view, self.memory)

    def victim_rank(self, view: QueueView) -> Sequence[int]:
        """Return the first of the order, whose hits are spared."""
        return list(islice(self.order(view), self.spared))

    def on_hook(self, view: QueueView) -> None:
        """Let the memory hear of a hook."""
        self.memory.on_hook(view)

    def on_admit(self, request_id: int) -> None:
        """Let the memory hear of an admission."""
        self.memory.on_admit(request_id)

    def on_step(self, executed_tokens: int) -> None:
        """Let the memory hear of a step."""
        self.memory.on_step(executed_tokens)


@dataclass(frozen=True)
class ByArrival(Rule):
    """First come, first served."""

    def order(self, view: QueueView, memory: Any = None) -> Iterator[int]:
        """Yield 0, 1, 2, ...: a view is in order of (arrival, id)."""
        return iter(range(len(view)))


@dataclass(frozen=True)
class ByScore(Rule):
    """Highest score first, ties by (arrival, id).

    Cost: one pass over the queue for the first few positions, a few more where a step asks for more.
    """

    score: Score

    def order(self, view: QueueView, memory: Any = None) -> Iterator[int]:
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

    def order(self, view: QueueView, memory: Any = None) -> Iterator[int]:
        """Yield positions, the oldest at every k-th turn."""
        taken: set[int] = set()
        oldest, best = _untaken(iter(range(len(view))), taken), _untaken(self.best.order(view), taken)
        admissions = memory.admissions if memory else 0
        for turn in range(admissions + 1, admissions + 1 + len(view)):
            position = next(oldest if turn % self.k == 0 else best)
            taken.add(position)
            yield position


class Release(NamedTuple):
    """One turn of two lanes: who is released by which lane, and where the ledgers stood when that was decided."""

    position: int
    lane: Literal["fast", "fair"]
    fast_ledger: float
    fair_ledger: float


_POSITION = attrgetter("position")


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

    def order(self, view: QueueView, memory: Any = None) -> Iterator[int]:
        """Yield positions in order of release."""
        return map(_POSITION, self.releases(view))

    def releases(self, view: QueueView) -> Iterator[Release]:
        """Yield the turns of the merge, each before it is charged."""
        if not len(view):
            return
        taken: set[int] = set()
        fast = _Lane(self.fast.order(view), taken, view, self.fast_weight)
        fair = _Lane(iter(range(len(view))), taken, view, 1)
        while fast.head is not None and fair.head is not None:
            lane, other = (fast, fair) if fast.ledger <= fair.ledger else (fair, fast)
            released = lane.head
            assert released is not None
            taken.add(released)
            yield Release(released, "fast" if lane is fast else "fair", fast.ledger, fair.ledger)
            lane.advance()
            lane.ledger += lane.work_of(released if self.charge == "released" else lane.head)
            if other.head == released:
                other.advance()
                if other is fair and self.fair_restarts:
                    fair.ledger = fair.work_of(fair.head)


class _Lane:
    """One lane's state within a step: its head and its ledger."""

    def __init__(self, positions: Iterator[int], taken: set[int], view: QueueView, weight: float) -> None:
        self._positions, self._taken = positions, taken
        self._tokens_of, self._hit_of = view.n_tokens.item, view.hit_tokens.item  # few of a long queue are asked for
        self._weight = weight
        self.head: int | None = None
        self.advance()
        self.ledger = self.work_of(self.head)

    def work_of(self, position: int | None) -> float:
        """Return what a request charges to this lane; an empty lane is charged nothing."""
        return 0 if position is None else self._weight * max(1, self._tokens_of(position) - self._hit_of(position))

    def advance(self) -> None:
        """Move to the next request that no lane has released."""
        taken = self._taken
        for position in self._positions:
            if position not in taken:
                self.head = position
                return
        self.head = None


def _untaken(positions: Iterator[int], taken: set[int]) -> Iterator[int]:
    """Skip what has been taken by the time it is asked for."""
    return (position for position in positions if position not in taken)


def descending(key: npt.NDArray[Any]) -> Iterator[int]:
    """Yield positions of ``key`` by falling value, equal values by rising position.

    Cost: O(len(key)) for the first few; each further batch is four times as large. A short queue is sorted at once.
    """
    return iter(_falling(key).tolist()) if len(key) <= SORTED_AT_ONCE else _falling_in_batches(key)


def _falling_in_batches(key: npt.NDArray[Any]) -> Iterator[int]:
    """Yield positions by falling key, the first ones before the others are looked at."""
    keys, positions, batch = key, None, FIRST_BATCH
    while len(keys) > batch:
        ahead = keys >= _reached_by(keys, batch)
        first = np.flatnonzero(ahead) if positions is None else positions[ahead]
        yield from first[_falling(keys[ahead])].tolist()
        behind = ~ahead
        positions = np.flatnonzero(behind) if positions is None else positions[behind]
        keys = keys[behind]
        batch *= BATCH_GROWTH
    order = _falling(keys)
    yield from (order if positions is None else positions[order]).tolist()


def _reached_by(keys: npt.NDArray[Any], count: int) -> Any:
    """Return a value that at least ``count`` of ``keys`` reach, and seldom many more.

    It is the ``count``-th largest of the maxima of groups: to find those costs less than to find the ``count``-th
    largest key, and each of that many groups has one key that reaches it. Neighbours, whose keys are often alike, are
    in different groups.
    """
    members = max(1, len(keys) // (GROUPS_OF_A_BATCH * count))
    groups = len(keys) // members
    maxima = keys[: members * groups].reshape(members, groups).max(axis=0)
    maxima.partition(groups - count)
    return maxima[groups - count]


def _falling(key: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return the positions by falling key; stable, so ties stay in order of position."""
    order: npt.NDArray[np.intp] = (-key).argsort(kind="stable")
    return order

"""Rules that know more of who waits than a view says: what was counted, who was passed, whose turn it is.

As those of `rules` they are data, with their definition; what they know is in their memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from fairway.policies.base import Int64Array, QueueView
from fairway.policies.first_seen import FirstSeen
from fairway.policies.rules import Memory, Rule, descending
from fairway.policies.score import Score

HEAD_TOKENS = 32  # what `QueueView.head_id` stands for

# counts


@dataclass(eq=False)
class CountedView(QueueView):
    """A view with what was counted of each request since the first hook that saw it."""

    hooks_waited: Int64Array | None = None
    executed_tokens: Int64Array | None = None


@dataclass(frozen=True)
class ByCountedScore(Rule):
    """Highest score first, ties by (arrival, id), of a score that may read the columns of `CountedView`, too."""

    score: Score

    def new_memory(self) -> Counts:
        """Return counts of nothing."""
        return Counts()

    def order(self, view: QueueView, memory: Any = None) -> Iterator[int]:
        """Yield positions by falling score."""
        return descending(self.score.of((memory or self.new_memory()).counted(view)))


class Counts(Memory):
    """Hooks and executed tokens, and how many there were when each request was first seen."""

    def __init__(self) -> None:
        super().__init__()
        self._hooks = self._executed_tokens = 0
        self._first_hook, self._executed_before = FirstSeen(), FirstSeen()

    def on_hook(self, view: QueueView) -> None:
        """Count a hook."""
        self._hooks += 1
        self._first_hook.note(view, self._hooks)
        self._executed_before.note(view, self._executed_tokens)

    def on_step(self, executed_tokens: int) -> None:
        """Count a step's tokens."""
        self._executed_tokens += executed_tokens

    def counted(self, view: QueueView) -> CountedView:
        """Return the view with its counts."""
        return CountedView(
            **{field.name: getattr(view, field.name) for field in fields(QueueView)},
            hooks_waited=self._hooks - self._first_hook.of(view, self._hooks),
            executed_tokens=self._executed_tokens - self._executed_before.of(view, self._executed_tokens),
        )


# a head group


@dataclass(frozen=True)
class HeadGroup(Rule):
    """Requests that ``window`` later arrivals have passed come first, by arrival; then the others, in ``rest``'s order.

    An admission passes everybody who waits and came before.
    """

    window: int
    rest: Rule

    def new_memory(self) -> Passed:
        """Return that nobody has passed anybody."""
        return Passed()

    def order(self, view: QueueView, memory: Any = None) -> Iterator[int]:
        """Yield the head group by arrival, then the others."""
        head = set(np.flatnonzero((memory or self.new_memory()).passed(view) >= self.window).tolist())
        yield from sorted(head)
        yield from (position for position in self.rest.order(view) if position not in head)


class Passed(Memory):
    """How many later arrivals were admitted while a request waited."""

    def __init__(self) -> None:
        super().__init__()
        self._passed_by: dict[int, int] = {}  # request id -> later arrivals admitted; by arrival, as last seen

    def passed(self, view: QueueView) -> Int64Array:
        """Return how many passed each request of ``view``."""
        found = (self._passed_by.get(one, 0) for one in view.request_id.tolist())
        return np.fromiter(found, dtype=np.int64, count=len(view))

    def on_hook(self, view: QueueView) -> None:
        """Take in new requests and forget those that wait no more."""
        self._passed_by = {request: self._passed_by.get(request, 0) for request in view.request_id.tolist()}

    def on_admit(self, request_id: int) -> None:
        """Count, for everybody who came before the admitted request, that it passed them."""
        super().on_admit(request_id)
        for earlier in self._passed_by:
            if earlier == request_id:
                break
            self._passed_by[earlier] += 1


# groups that take turns


@dataclass(frozen=True)
class Groups(Rule):
    """Groups of requests, each by arrival; the ``score`` is a request's group, from 0 to ``count - 1``.

    A group is fixed by the first hook that sees a request, or found anew at every hook if ``is_fixed`` is False. How
    groups are merged is `Turns` or `Draws`.
    """

    count: int
    score: Score
    is_fixed: bool

    def members(self, view: QueueView, memory: Any) -> list[list[int]]:
        """Return each group's positions, by arrival."""
        groups = memory.groups(view)
        return [np.flatnonzero(groups == group).tolist() for group in range(self.count)]


@dataclass(frozen=True)
class Turns(Groups):
    """From the pointer's group downward, cyclic, empty ones skipped: some of each, then what is left of each.

    A turn takes up to ``share (g + 1)`` requests of group ``g``. After a step that admitted something the pointer moves
    to the group below the one that came first. It starts at the last group. With ``offers_all`` False the group that
    comes first is offered alone.
    """

    share: int
    offers_all: bool = True

    def new_memory(self) -> Pointer:
        """Return a pointer at the last group."""
        return Pointer(self)

    def order(self, view: QueueView, memory: Any = None) -> Iterator[int]:
        """Yield each group's share in order of turns, then each one's remainder."""
        memory = memory or self.new_memory()
        members = self.members(view, memory)
        turns = self.turns(members, memory.pointer)
        offered = turns if self.offers_all else turns[:1]
        for group in offered:
            yield from members[group][: self.share * (group + 1)]
        for group in offered:
            yield from members[group][self.share * (group + 1) :]

    def turns(self, members: list[list[int]], pointer: int) -> list[int]:
        """Return the groups that have a request, from the pointer's downward, cyclic."""
        return [group for below in range(self.count) if members[group := (pointer - below) % self.count]]


@dataclass(frozen=True)
class Draws(Groups):
    """Single requests in proportion to the groups' weights.

    Before each request every group that has one left gains ``g + 1`` credits; the richest group (a tie: the later one)
    gives its oldest and pays what all gained. Credits of admitted requests outlive the step.
    """

    def new_memory(self) -> Credits:
        """Return accounts without credits."""
        return Credits(self)

    def order(self, view: QueueView, memory: Any = None) -> Iterator[int]:
        """Yield one draw after the other until all groups are empty."""
        memory = memory or self.new_memory()
        left = {group: deque(positions) for group, positions in enumerate(self.members(view, memory)) if positions}
        account = memory.account
        while left:
            richest = max(left, key=lambda group: (account[group] + group + 1, group))
            yield left[richest].popleft()
            account = _settled(account, set(left), richest)
            if not left[richest]:
                del left[richest]


class _Grouped(Memory):
    """Groups as first seen."""

    def __init__(self, rule: Groups) -> None:
        super().__init__()
        self._rule = rule
        self._first_group = FirstSeen()

    def groups(self, view: QueueView) -> Int64Array:
        """Return each request's group."""
        now = self._rule.score.of(view)
        return self._first_group.of(view, now) if self._rule.is_fixed else now

    def on_hook(self, view: QueueView) -> None:
        """Fix the groups of requests not seen before."""
        if self._rule.is_fixed:
            self._first_group.note(view, self.groups(view))


class Pointer(_Grouped):
    """The group whose turn is next."""

    def __init__(self, rule: Turns) -> None:
        super().__init__(rule)
        self._turns = rule
        self.pointer = self._next_pointer = rule.count - 1

    def on_hook(self, view: QueueView) -> None:
        """See which group comes first."""
        super().on_hook(view)
        first = self._turns.turns(self._turns.members(view, self), self.pointer)[0]
        self._next_pointer = (first - 1) % self._turns.count

    def on_admit(self, request_id: int) -> None:
        """Move the pointer, once a step however many are admitted."""
        super().on_admit(request_id)
        self.pointer = self._next_pointer


class Credits(_Grouped):
    """The groups' credits."""

    def __init__(self, rule: Draws) -> None:
        super().__init__(rule)
        self.account = (0,) * rule.count
        self._group_of: dict[int, int] = {}  # of requests that waited at the last hook and were not admitted since

    def on_hook(self, view: QueueView) -> None:
        """See who can be drawn."""
        super().on_hook(view)
        self._group_of = dict(zip(view.request_id.tolist(), self.groups(view).tolist(), strict=True))

    def on_admit(self, request_id: int) -> None:
        """Settle one draw."""
        super().on_admit(request_id)
        present = set(self._group_of.values())
        self.account = _settled(self.account, present, self._group_of.pop(request_id))


def _settled(account: tuple[int, ...], present: set[int], drawn: int) -> tuple[int, ...]:
    """Return the credits after a draw from ``present`` groups: each gained its weight, the drawn one paid for all."""
    pool = sum(group + 1 for group in present)
    return tuple(
        credit + (group + 1) * (group in present) - pool * (group == drawn) for group, credit in enumerate(account)
    )


# a list that lives on


@dataclass(frozen=True)
class StandingList(Rule):
    """A list that lives on from hook to hook; new requests join its end, by arrival.

    Up to ``most_sorted`` requests: in the list's order, one whose hit is at most ``cold_hit_tokens`` and whose first 32
    tokens are those of a cold one before it goes to the back; then a stable sort by hit, longest first. Above that
    number the list stays as it is. So ties go by place in the list, which is by arrival only until it was sorted once.
    """

    cold_hit_tokens: int
    most_sorted: int

    def new_memory(self) -> Places:
        """Return an empty list."""
        return Places(self)

    def order(self, view: QueueView, memory: Any = None) -> Iterator[int]:
        """Yield positions in the list's new order."""
        queue = (memory or self.new_memory()).queue(view)
        if len(queue) > self.most_sorted:
            return iter(queue.tolist())
        key = np.where(self._waits_for_sibling(view, queue), 1, -view.hit_tokens[queue])
        return iter(queue[np.argsort(key, kind="stable")].tolist())

    def _waits_for_sibling(self, view: QueueView, queue: Int64Array) -> npt.NDArray[np.bool_]:
        """Return, along ``queue``, whether a request goes to the back: shape ``(len(queue),)``."""
        is_cold = (view.hit_tokens <= self.cold_hit_tokens) & (view.n_tokens > HEAD_TOKENS)
        passed: set[int] = set()
        waits = np.zeros(len(queue), dtype=np.bool_)
        for place, position in enumerate(queue.tolist()):
            if not is_cold[position]:
                continue
            head = int(view.head_id[position])
            waits[place] = head in passed
            passed.add(head)
        return waits


class Places(Memory):
    """Where each request stands in the list."""

    def __init__(self, rule: StandingList) -> None:
        super().__init__()
        self._rule = rule
        self._place: dict[int, int] = {}  # request id -> place in the list

    def queue(self, view: QueueView) -> Int64Array:
        """Return positions in the order of the list as it stands, new requests at its end."""
        place = self._place
        end = len(place)
        places = np.fromiter((place.get(one, end) for one in view.request_id.tolist()), np.int64, count=len(view))
        return np.argsort(places, kind="stable")

    def on_hook(self, view: QueueView) -> None:
        """Keep the new order."""
        ids = view.request_id.tolist()
        self._place = {ids[position]: place for place, position in enumerate(self._rule.order(view, self))}

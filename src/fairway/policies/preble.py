"""Preble: groups by cached share that take turns, the better cached ones with more requests a turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from fairway.policies.base import Capability, Int64Array, Policy, QueueView
from fairway.policies.first_seen import FirstSeen
from fairway.policies.registry import PolicyFactory, register

GROUPS = 10
REQUESTS_PER_WEIGHT = 10  # a turn takes up to so many requests of a group, times the group's weight


def cached_share_group(hit_tokens: Any, n_tokens: Any) -> Any:
    """Return the group of a cached share: 0 without a hit, else ``ceil(10 h / n) - 1``, from 0 to 9."""
    return np.maximum(0, -(-GROUPS * hit_tokens // np.maximum(1, n_tokens)) - 1)


@dataclass(frozen=True)
class PrebleParameters:
    """The readings that the source leaves open, defaults first.

    ``group="hook"`` finds a request's group anew at every hook. ``work_conserving=False`` offers the pointer's group
    alone. ``draw="proportional"`` draws single requests in proportion to the groups' weights instead of taking turns.
    """

    group: Literal["first seen", "hook"] = "first seen"
    work_conserving: bool = True
    draw: Literal["turns", "proportional"] = "turns"

    def __post_init__(self) -> None:
        for name, known in (("group", ("first seen", "hook")), ("draw", ("turns", "proportional"))):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, not {getattr(self, name)!r}")
        if not isinstance(self.work_conserving, bool):
            raise ValueError(f"work_conserving must be true or false, not {self.work_conserving!r}")
        if self.draw == "proportional" and not self.work_conserving:
            raise ValueError("a proportional draw has no pointer, so it cannot offer the pointer's group alone")


class Preble(Policy):
    """Order by turns of ten groups, or by a proportional draw from them; within a group by arrival.

    Turns: from the pointer's group downward, cyclic, empty ones skipped, up to ``10 (g + 1)`` requests of each group
    ``g``, then what is left of each in the same order. After a step that admitted something the pointer moves to the
    group below the one that came first. It starts at the best cached group.

    Proportional draw: before each request every group that has one left gains ``g + 1`` credits; the richest group (a
    tie: the better cached one) gives its oldest and pays what all gained. Credits of admitted requests outlive the
    step. So of 55 requests drawn from ten full groups, ``g + 1`` come from group ``g``, as in the paper's example.

    Source: arXiv 2407.00023 section 3.3 and its public code. Cost: one pass over the queue.
    """

    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.ON_HOOK, Capability.ON_ADMIT})

    def __init__(self, **parameters: Any) -> None:
        self.parameters = PrebleParameters(**parameters)
        self._first_group = FirstSeen()
        self._pointer = self._next_pointer = GROUPS - 1
        self._credits = (0,) * GROUPS
        self._group_of: dict[int, int] = {}  # of requests that waited at the last hook and were not admitted since

    def order(self, view: QueueView) -> Iterator[int]:
        """Yield positions by turns or by draws."""
        members = _members(self._groups(view))
        if self.parameters.draw == "proportional":
            return _drawn(members, self._credits)
        turns = _turns(members, self._pointer)
        return _by_turns(members, turns if self.parameters.work_conserving else turns[:1])

    def on_hook(self, view: QueueView) -> None:
        """Fix the groups of requests not seen before, and see which group comes first."""
        groups = self._groups(view)
        self._first_group.note(view, groups)
        self._group_of = dict(zip(view.request_id.tolist(), groups.tolist(), strict=True))
        self._next_pointer = (_turns(_members(groups), self._pointer)[0] - 1) % GROUPS

    def on_admit(self, request_id: int) -> None:
        """Move the pointer, once a step however many are admitted; or settle the credits of one draw."""
        self._pointer = self._next_pointer
        if self.parameters.draw == "proportional":
            present = set(self._group_of.values())
            self._credits = _settled(self._credits, present, self._group_of.pop(request_id))

    def _groups(self, view: QueueView) -> Int64Array:
        now: Int64Array = cached_share_group(view.hit_tokens, view.n_tokens)
        return now if self.parameters.group == "hook" else self._first_group.of(view, now)


def _members(groups: Int64Array) -> list[list[int]]:
    """Return each group's positions, by arrival."""
    return [np.flatnonzero(groups == group).tolist() for group in range(GROUPS)]


def _turns(members: list[list[int]], pointer: int) -> list[int]:
    """Return the groups that have a request, from the pointer's downward, cyclic."""
    return [group for below in range(GROUPS) if members[group := (pointer - below) % GROUPS]]


def _by_turns(members: list[list[int]], turns: list[int]) -> Iterator[int]:
    """Yield each group's share in order of turns, then each one's remainder."""
    for group in turns:
        yield from members[group][: REQUESTS_PER_WEIGHT * (group + 1)]
    for group in turns:
        yield from members[group][REQUESTS_PER_WEIGHT * (group + 1) :]


def _drawn(members: list[list[int]], credits_before: tuple[int, ...]) -> Iterator[int]:
    """Yield one draw after the other until all groups are empty."""
    left = {group: deque(positions) for group, positions in enumerate(members) if positions}
    account = credits_before
    while left:
        richest = max(left, key=lambda group: (account[group] + group + 1, group))
        yield left[richest].popleft()
        account = _settled(account, set(left), richest)
        if not left[richest]:
            del left[richest]


def _settled(account: tuple[int, ...], present: set[int], drawn: int) -> tuple[int, ...]:
    """Return the credits after a draw from ``present`` groups: each gained its weight, the drawn one paid for all."""
    pool = sum(group + 1 for group in present)
    return tuple(
        credit + (group + 1) * (group in present) - pool * (group == drawn) for group, credit in enumerate(account)
    )


def _preset(**presets: Any) -> PolicyFactory:
    return lambda **changes: Preble(**{**presets, **changes})


register("preble", Preble)
register("preble-reevaluated", _preset(group="hook"))
register("preble-one-group", _preset(work_conserving=False))
register("preble-proportional", _preset(draw="proportional"))

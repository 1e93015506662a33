"""The waiting queue: requests in order of (arrival, id), beside the columns that policies see."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from fairway.policies import QueueView

PrefillTime = Callable[[int, int], int]  # T(n, h) in ns
OrderKey = tuple[int, int]  # (first arrival, id)
Waiting = TypeVar("Waiting")

_ARRIVAL, _TOKENS, _HIT, _PREFILL, _HEAD, _ID, _REMAINING = range(7)  # the columns of `QueueView`, in its order


class WaitingQueue(Generic[Waiting]):
    """Waiting requests and one array per column. Each has a slot: a small number that it keeps while it waits.

    Columns stand by slot and are put in the order of the queue when they are read, so who comes or goes moves nobody's.
    With a ``prefill_time`` there is a column of remaining times, found anew where a hit changed.
    """

    def __init__(self, prefill_time: PrefillTime | None = None) -> None:
        self.requests: list[Waiting] = []
        self._keys: list[OrderKey] = []
        self._slots = array("q")  # by position; it moves its numbers faster than an array of numpy's
        self._free_slots: list[int] = []
        self._prefill_time = prefill_time
        count = _REMAINING if prefill_time is None else _REMAINING + 1
        self._columns = [np.zeros(64, dtype=np.int64) for _ in range(count)]  # by slot
        self._timed_hits = np.zeros(64, dtype=np.int64)  # the hits that remaining times are of, by slot

    def __len__(self) -> int:
        return len(self.requests)

    def slot(self, position: int) -> int:
        """Return the slot of the request at a position."""
        return self._slots[position]

    def add(self, request: Waiting, key: OrderKey, n_tokens: int, prefill_ns: int, head_id: int) -> int:
        """Put a request in its place by ``key``; return its slot. Its hit is known from the next `take_hits` on."""
        position = count = len(self.requests)
        slot = self._free_slots.pop() if self._free_slots else count
        if slot == len(self._columns[_ID]):
            self._make_room()
        if count and key < self._keys[-1]:
            position = bisect_left(self._keys, key)
        self._slots.insert(position, slot)
        self._keys.insert(position, key)
        self.requests.insert(position, request)
        columns = self._columns
        columns[_ARRIVAL][slot], columns[_ID][slot] = key
        columns[_TOKENS][slot] = n_tokens
        columns[_PREFILL][slot] = prefill_ns
        columns[_HEAD][slot] = head_id
        if self._prefill_time is not None:
            columns[_REMAINING][slot] = self._prefill_time(n_tokens, 0)
            self._timed_hits[slot] = 0
        return slot

    def position(self, key: OrderKey) -> int:
        """Return where the request with this key is."""
        return bisect_left(self._keys, key)

    def remove(self, positions: Iterable[int]) -> list[int]:
        """Take out the requests at ``positions``; return their slots, which are free from now on."""
        removed = []
        for position in sorted(positions, reverse=True):
            removed.append(self._slots.pop(position))
            del self.requests[position], self._keys[position]
        self._free_slots += removed
        return removed

    def take_hits(self, hit_tokens: npt.NDArray[np.int64]) -> None:
        """Take all requests' cached prefixes, given by slot, from this array; it is read by the next `view`."""
        self._columns[_HIT] = hit_tokens
        if self._prefill_time is not None:
            self._update_remaining(self._prefill_time, hit_tokens)

    def view(self, now_ns: int) -> QueueView:
        """Return the columns as they stand, read-only."""
        slots = self._slots_now()
        columns = [column.take(slots) for column in self._columns]
        for column in columns:
            column.setflags(write=False)
        return QueueView(now_ns, *columns)

    def _slots_now(self) -> npt.NDArray[np.int64]:
        """Return the slots in the order of the queue; to be let go of before requests come or go."""
        return np.frombuffer(self._slots, dtype=np.int64)

    def _make_room(self) -> None:
        """Let there be twice as many slots."""
        room = np.zeros_like(self._columns[_ID])
        self._columns = [np.concatenate([column, room]) for column in self._columns]
        self._timed_hits = np.concatenate([self._timed_hits, room])

    def _update_remaining(self, prefill_time: PrefillTime, hit_tokens: npt.NDArray[np.int64]) -> None:
        """Find the remaining times of those whose hits have changed."""
        slots = self._slots_now()
        for slot in slots[hit_tokens[slots] != self._timed_hits[slots]].tolist():
            self._timed_hits[slot] = hit = hit_tokens.item(slot)
            self._columns[_REMAINING][slot] = prefill_time(self._columns[_TOKENS].item(slot), hit)

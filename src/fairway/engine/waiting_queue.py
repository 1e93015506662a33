"""The waiting queue: requests in order of (arrival, id), beside the columns that policies see."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from fairway.engine.request import Request
from fairway.policies import QueueView

PrefillTime = Callable[[int, int], int]  # T(n, h) in ns

_WRITTEN_AT_ONCE = 1024  # at most; a row costs more memory before it is written
_COLUMNS = 8
_ARRIVAL, _TOKENS, _HIT, _PREFILL, _HEAD, _ID, _REMAINING, _SLOT = range(_COLUMNS)


class WaitingQueue:
    """Waiting requests and one array per column. Each has a slot: a small number that it keeps while it waits.

    Adding at the end and reading are cheap; adding elsewhere and removing move the requests on the shorter side. With a
    ``prefill_time`` there is a column of remaining times, found anew where a hit changed.
    """

    def __init__(self, prefill_time: PrefillTime | None = None) -> None:
        self.requests: list[Request] = []
        self._unwritten: list[tuple[int, ...]] = []  # rows of the last requests, until somebody reads the table
        self._table = np.zeros((_COLUMNS, 64), dtype=np.int64)
        self._first = 0  # where the queue begins in the table
        self._read: npt.NDArray[np.int64] | None = None  # the part of the table that is the queue, once it is asked for
        self._free_slots: list[int] = []
        self._prefill_time = prefill_time

    def __len__(self) -> int:
        return len(self.requests)

    @property
    def slots(self) -> npt.NDArray[np.int64]:
        """Slots in the order of the queue, shape ``(len(self),)``; valid until requests are added or removed."""
        slots: npt.NDArray[np.int64] = self._columns()[_SLOT]
        return slots

    def add(self, request: Request) -> int:
        """Put a request in its place by (arrival, id); return its slot. Its hit is 0 until `take_hits`."""
        self._read = None
        slot = self._free_slots.pop() if self._free_slots else len(self.requests)
        position = self.position(request)
        self.requests.insert(position, request)
        n_tokens = request.n_tokens
        self._unwritten.append(
            (
                request.arrival_ns,
                n_tokens,
                0,
                request.prefill_ns,
                request.head_id,
                request.request_id,
                self._remaining_ns(n_tokens, 0),
                slot,
            )
        )
        if position < len(self.requests) - 1:
            columns = self._columns()
            row = columns[:, -1].copy()
            columns[:, position + 1 :] = columns[:, position:-1]
            columns[:, position] = row
        elif len(self._unwritten) == _WRITTEN_AT_ONCE:
            self._write()
        return slot

    def position(self, request: Request) -> int:
        """Return where a request is, or where it belongs."""
        if self.requests and self.requests[-1].order_key < request.order_key:
            return len(self.requests)
        return bisect_left(self.requests, request.order_key, key=lambda other: other.order_key)

    def remove(self, positions: Iterable[int]) -> list[int]:
        """Take out the requests at ``positions``; return their slots, which are free from now on."""
        gone = sorted(positions)
        slot_at = self.slots.item
        slots = [slot_at(position) for position in gone]
        self._free_slots += slots
        self._close_gaps(gone)
        for position in reversed(gone):
            del self.requests[position]
        self._read = None
        return slots

    def take_hits(self, hit_tokens: npt.NDArray[np.int64]) -> None:
        """Record all requests' cached prefixes, given by slot."""
        columns = self._columns()
        hits, slots = columns[_HIT], columns[_SLOT]
        if self._prefill_time is not None:
            for position in np.flatnonzero(hits != hit_tokens[slots]).tolist():
                n_tokens, hit = int(columns[_TOKENS, position]), int(hit_tokens[slots[position]])
                columns[_REMAINING, position] = self._prefill_time(n_tokens, hit)
        hit_tokens.take(slots, out=hits, mode="clip")  # all slots are valid; this mode writes to ``out`` at once

    def view(self, now_ns: int) -> QueueView:
        """Return the columns as they stand, read-only; valid until requests are added or removed."""
        columns = self._columns().view()
        columns.flags.writeable = False
        return QueueView(
            now_ns=now_ns,
            arrival_ns=columns[_ARRIVAL],
            n_tokens=columns[_TOKENS],
            hit_tokens=columns[_HIT],
            prefill_ns=columns[_PREFILL],
            head_id=columns[_HEAD],
            request_id=columns[_ID],
            remaining_ns=None if self._prefill_time is None else columns[_REMAINING],
        )

    def _columns(self) -> npt.NDArray[np.int64]:
        """Return the table of all requests, shape ``(_COLUMNS, len(self))``."""
        if self._read is None:
            if self._unwritten:
                self._write()
            self._read = self._table[:, self._first : self._first + len(self.requests)]
        return self._read

    def _write(self) -> None:
        """Write the rows of the last requests: several at the cost of one."""
        count, written = len(self.requests), len(self.requests) - len(self._unwritten)
        self._make_room(written, count)
        if count == written + 1:
            self._table[:, self._first + written] = self._unwritten[0]
        else:
            self._table[:, self._first + written : self._first + count] = np.array(self._unwritten, dtype=np.int64).T
        self._unwritten.clear()

    def _make_room(self, written: int, count: int) -> None:
        """Let there be room for ``count``, of whom the first ``written`` are in the table.

        It is found in what removals left in front, else in a larger table.
        """
        first, capacity = self._first, self._table.shape[1]
        if first + count <= capacity:
            return
        table = self._table if 2 * count <= capacity else np.zeros((_COLUMNS, 2 * max(count, capacity)), dtype=np.int64)
        table[:, :written] = self._table[:, first : first + written]
        self._table, self._first = table, 0

    def _close_gaps(self, gone: list[int]) -> None:
        """Move what lies before the gaps in the front half up, and what lies behind the other ones down."""
        columns, count = self._columns(), len(self.requests)
        front = [position for position in gone if 2 * position < count]
        back = gone[len(front) :]
        for gaps, (before, position) in enumerate(reversed(list(pairwise([-1, *front]))), 1):
            columns[:, before + 1 + gaps : position + gaps] = columns[:, before + 1 : position]
        for gaps, (position, after) in enumerate(pairwise([*back, count]), 1):
            columns[:, position + 1 - gaps : after - gaps] = columns[:, position + 1 : after]
        self._first += len(front)

    def _remaining_ns(self, n_tokens: int, hit_tokens: int) -> int:
        return 0 if self._prefill_time is None else self._prefill_time(n_tokens, hit_tokens)

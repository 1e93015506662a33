"""The waiting queue: requests in order of (arrival, id), beside the columns that policies see."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable

import numpy as np

from fairway.engine.request import Request
from fairway.policies import QueueView

PrefillTime = Callable[[int, int], int]  # T(n, h) in ns

_COLUMNS = 7
_ARRIVAL, _TOKENS, _HIT, _PREFILL, _HEAD, _ID, _REMAINING = range(_COLUMNS)


class WaitingQueue:
    """Waiting requests and one array per column. Adding at the end and reading are cheap; removal moves the rest.

    With a ``prefill_time`` there is a column of remaining times, found anew where a hit changed.
    """

    def __init__(self, prefill_time: PrefillTime | None = None) -> None:
        self.requests: list[Request] = []
        self._columns = np.zeros((_COLUMNS, 64), dtype=np.int64)
        self._prefill_time = prefill_time

    def __len__(self) -> int:
        return len(self.requests)

    def add(self, request: Request) -> None:
        """Put a request in its place by (arrival, id)."""
        count = len(self.requests)
        if count == self._columns.shape[1]:
            self._columns = np.concatenate([self._columns, np.zeros_like(self._columns)], axis=1)
        position = self.position(request)
        self.requests.insert(position, request)
        self._columns[:, position + 1 : count + 1] = self._columns[:, position:count]
        self._columns[:, position] = (
            request.arrival_ns,
            request.n_tokens,
            0,
            request.prefill_ns,
            request.head_id,
            request.request_id,
            self._remaining_ns(request.n_tokens, 0),
        )

    def position(self, request: Request) -> int:
        """Return where a request is, or where it belongs."""
        return bisect_left(self.requests, request.order_key, key=lambda other: other.order_key)

    def remove(self, positions: Iterable[int]) -> None:
        """Take out the requests at ``positions``."""
        gone = sorted(positions)
        if not gone:
            return
        kept = np.delete(self._columns[:, : len(self.requests)], gone, axis=1)
        self._columns[:, : kept.shape[1]] = kept
        for position in reversed(gone):
            del self.requests[position]

    def set_hit(self, position: int, hit_tokens: int) -> None:
        """Record a request's cached prefix."""
        self._columns[_HIT, position] = hit_tokens
        self._columns[_REMAINING, position] = self._remaining_ns(self.requests[position].n_tokens, hit_tokens)

    def view(self, now_ns: int) -> QueueView:
        """Return the columns as they stand, read-only; valid until requests are added or removed."""
        columns = self._columns[:, : len(self.requests)]
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

    def _remaining_ns(self, n_tokens: int, hit_tokens: int) -> int:
        return 0 if self._prefill_time is None else self._prefill_time(n_tokens, hit_tokens)

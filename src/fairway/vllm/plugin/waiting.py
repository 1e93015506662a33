"""vLLM's waiting requests as the columns that policies see, in order of arrival."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self
from weakref import ref

from fairway.engine import PrefillTime, WaitingQueue
from fairway.policies import QueueView
from fairway.vllm.hits import WaitingHits

_HEAD_TOKENS = 32  # what `QueueView.head_id` stands for


class Waiting:
    """A mirror of the requests that wait and could run.

    A request has one number for as long as vLLM knows it, so a preempted one comes back as itself, with its first
    arrival. Hashes are of blocks of ``block_tokens``. ``hits`` is None for a policy that reads none.
    """

    def __init__(
        self, hits: WaitingHits | None, block_tokens: int, prefill_time: PrefillTime, *, with_remaining: bool
    ) -> None:
        self._hits = hits
        self._head_block = -(-_HEAD_TOKENS // block_tokens) - 1  # in which the head of a prompt ends
        self._prefill_time = prefill_time
        self._queue: WaitingQueue[Any] = WaitingQueue(prefill_time if with_remaining else None)
        self._slots: dict[Any, int] = {}
        self._preempted: dict[Any, tuple[int, int]] = {}  # tokens and preemptions of those that have run before
        self._view: QueueView | None = None  # the latest, while it holds
        self.drawn: dict[Any, int] = {}  # who was asked for in the latest view, and where it is there
        self._known: dict[ref[Any], tuple[int, int]] = {}  # first arrival and number, until vLLM forgets the request
        self._numbered = 0

    def with_numbers_of(self, before: Waiting) -> Self:
        """Know the requests by the numbers that they had ``before``: a policy remembers these."""
        self._known, self._numbered = before._known, before._numbered
        return self

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, request: Any) -> bool:
        return request in self._slots

    @property
    def hits_are_indexed(self) -> bool:
        """Whether there are hits, and the reuse index keeps them."""
        return self._hits is not None and self._hits.is_indexed

    def add(self, request: Any, arrival_ns: int) -> tuple[int, bool]:
        """Take a vLLM request in, whose first arrival counts; return its number, and whether it is new here."""
        key = self._known.get(ref(request))
        is_new = key is None
        if key is None:
            key = self._known[ref(request, self._known.pop)] = arrival_ns, self._numbered
            self._numbered += 1
        _, number = key
        n_tokens = request.num_tokens  # what it had generated before a preemption is computed again
        hashes = request.block_hashes  # equal for equal first tokens; a prompt without such a block is like no other
        head_id = int.from_bytes(hashes[self._head_block][:7], "big") if len(hashes) > self._head_block else -number - 1
        slot = self._queue.add(request, key, n_tokens, self._prefill_time(n_tokens, 0), head_id)
        self._slots[request] = slot
        if request.num_preemptions:
            self._preempted[request] = n_tokens, request.num_preemptions
        if self._hits is not None:
            self._hits.add(slot, request)
        self._view, self.drawn = None, {}
        return number, is_new

    def remove(self, requests: Iterable[Any]) -> None:
        """Let go of vLLM requests; those that are not here are passed over."""
        gone = [request for request in requests if request in self._slots]
        self._let_go(gone, self._positions(gone))

    def admit(self, requests: Sequence[Any]) -> int:
        """Let go of those that vLLM admitted; return the uncached tokens of those younger than one left behind."""
        positions = self._positions(requests)
        overtaken_tokens = self._overtaken_tokens(positions)
        self._let_go(requests, positions)
        return overtaken_tokens

    def grown(self) -> list[Any]:
        """Return those that got more tokens while they waited: output that was under way when they were preempted."""
        return [
            request for request, was in self._preempted.items() if was != (request.num_tokens, request.num_preemptions)
        ]

    def refresh_hits(self) -> None:
        """Bring all hits up to date; what the cache changes from here on is for the next time."""
        if self._hits is not None:
            self._hits.update()
            self._hits.log.begin_step()
            self._queue.take_hits(self._hits.hit_tokens)

    def confirm(self, request: Any, hit_tokens: int) -> None:
        """Hear which hit vLLM gave a request that it admitted in this step."""
        if self._hits is not None:
            self._hits.confirm(self._slots[request], hit_tokens)

    def view(self, now_ns: int) -> QueueView:
        """Return the columns as they stand; they hold until requests come or go."""
        self._view, self.drawn = self._queue.view(now_ns), {}
        return self._view

    def at(self, position: int) -> Any:
        """Return the vLLM request at a position of the view."""
        request = self._queue.requests[position]
        self.drawn[request] = position
        return request

    def number(self, request: Any) -> int:
        """Return the number of a request that has been here."""
        return self._known[ref(request)][1]

    def _positions(self, requests: Iterable[Any]) -> list[int]:
        """Return where requests are; those that were drawn need not be looked for."""
        drawn, known, look_for = self.drawn, self._known, self._queue.position
        return [drawn[request] if request in drawn else look_for(known[ref(request)]) for request in requests]

    def _overtaken_tokens(self, positions: Sequence[int]) -> int:
        if len(positions) == len(self._slots):
            return 0
        view, overtaken_tokens = self._view or self._queue.view(0), 0
        for older, position in enumerate(sorted(positions)):
            if position != older:  # of those before it, so many go as well; are there more, one is left behind
                overtaken_tokens += max(1, view.n_tokens.item(position) - view.hit_tokens.item(position))
        return overtaken_tokens

    def _let_go(self, requests: Sequence[Any], positions: Sequence[int]) -> None:
        for slot in self._queue.remove(positions):
            if self._hits is not None:
                self._hits.remove(slot)
        for request in requests:
            del self._slots[request]
            self._preempted.pop(request, None)
        self._view, self.drawn = None, {}  # nobody who has left is kept in mind: a request may hold megabytes

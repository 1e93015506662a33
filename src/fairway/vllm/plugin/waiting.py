"""vLLM's waiting requests as the columns that policies see, in order of arrival."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self
from weakref import WeakKeyDictionary

from fairway.engine import PrefillTime, Request, WaitingQueue
from fairway.policies import QueueView
from fairway.vllm.hits import WaitingHits

_HEAD_TOKENS = 32  # what `QueueView.head_id` stands for


class Waiting:
    """A mirror of the requests that wait and could run.

    A request has one number for as long as vLLM knows it, so a preempted one comes back as itself, with its first
    arrival. ``hits`` is None for a policy that reads none.
    """

    def __init__(self, hits: WaitingHits | None, prefill_time: PrefillTime, *, with_remaining: bool) -> None:
        self._hits = hits
        self._prefill_time = prefill_time
        self._queue = WaitingQueue(prefill_time if with_remaining else None)
        self._mirrored: dict[Any, Request] = {}
        self._preempted: dict[Any, None] = {}  # of these, those that have run before
        self._vllm_of: dict[int, Any] = {}  # by number
        self._view: QueueView | None = None  # the latest, while it holds
        self._positions: dict[Any, int] = {}  # in it, of those who were asked for
        self._known: WeakKeyDictionary[Any, tuple[int, int]] = WeakKeyDictionary()  # number and first arrival
        self._numbered = 0

    def with_numbers_of(self, before: Waiting) -> Self:
        """Know the requests by the numbers that they had ``before``: a policy remembers these."""
        self._known, self._numbered = before._known, before._numbered
        return self

    def __len__(self) -> int:
        return len(self._queue)

    def __contains__(self, request: Any) -> bool:
        return request in self._mirrored

    @property
    def hits_are_indexed(self) -> bool:
        """Whether there are hits, and the reuse index keeps them."""
        return self._hits is not None and self._hits.is_indexed

    def is_current(self, request: Any) -> bool:
        """Whether a request is here as it is now: preempted as often, with as many tokens."""
        mirrored = self._mirrored.get(request)
        return (
            mirrored is not None
            and mirrored.prompt_tokens == request.num_tokens
            and mirrored.preemptions == request.num_preemptions
        )

    def add(self, request: Any, arrival_ns: int, block_tokens: int) -> tuple[int, bool]:
        """Take a vLLM request in, whose hashes are of blocks of so many tokens; its first arrival counts.

        Return its number, and whether it is here for the first time.
        """
        known = self._known.get(request)
        is_new = known is None
        if known is None:
            known = self._known[request] = self._numbered, arrival_ns
            self._numbered += 1
        number, first_arrival_ns = known
        mirrored = Request(
            request_id=number,
            arrival_ns=first_arrival_ns,
            prompt_tokens=request.num_tokens,  # what it had generated before a preemption is computed again
            output_tokens=0,
            chain=[],
            prefill_ns=self._prefill_time(request.num_tokens, 0),
            head_id=_head_id(request, block_tokens, number),
            preemptions=request.num_preemptions,
        )
        self._mirrored[request] = mirrored
        if mirrored.preemptions:
            self._preempted[request] = None
        self._vllm_of[number] = request
        slot = self._queue.add(mirrored)
        if self._hits is not None:
            self._hits.add(slot, request)
        self._forget_view()
        return number, is_new

    def remove(self, requests: Iterable[Any]) -> None:
        """Let go of vLLM requests; those that are not here are passed over."""
        gone = [request for request in requests if request in self._mirrored]
        if not gone:
            return
        slots = self._queue.remove([self._position(request) for request in gone])
        for request in gone:
            del self._vllm_of[self._mirrored.pop(request).request_id]
            self._preempted.pop(request, None)
        if self._hits is not None:
            for slot in slots:
                self._hits.remove(slot)
        self._forget_view()

    def grown(self) -> list[Any]:
        """Return those that got more tokens while they waited: output that was under way when they were preempted."""
        return [request for request in self._preempted if not self.is_current(request)]

    def refresh_hits(self) -> None:
        """Bring all hits up to date."""
        if self._hits is not None:
            self._hits.update()
            self._queue.take_hits(self._hits.hit_tokens)

    def confirm(self, request: Any, hit_tokens: int) -> None:
        """Hear which hit vLLM gave a request that it admitted in this step."""
        if self._hits is not None:
            self._hits.confirm(self._queue.slots.item(self._position(request)), hit_tokens)

    def view(self, now_ns: int) -> QueueView:
        """Return the columns as they stand; they hold until requests come or go."""
        self._view = self._queue.view(now_ns)
        return self._view

    def at(self, position: int) -> Any:
        """Return the vLLM request at a position of the view."""
        request = self._vllm_of[self._queue.requests[position].request_id]
        self._positions[request] = position
        return request

    def number(self, request: Any) -> int:
        """Return the number of a request that has been here."""
        return self._known[request][0]

    def overtaken_tokens(self, admitted: Iterable[Any]) -> int:
        """Return the uncached tokens of those ``admitted``, all still here, that are younger than one left behind."""
        positions = sorted(self._position(request) for request in admitted)
        in_order = sum(place == position for place, position in enumerate(positions))  # nobody older is left behind
        if len(positions) == len(self._queue):
            return 0
        view = self._view or self._queue.view(0)
        return sum(
            max(1, view.n_tokens.item(position) - view.hit_tokens.item(position)) for position in positions[in_order:]
        )

    def _position(self, request: Any) -> int:
        """Return where a request is in the view."""
        position = self._positions.get(request)
        return self._queue.position(self._mirrored[request]) if position is None else position

    def _forget_view(self) -> None:
        self._view = None
        self._positions.clear()


def _head_id(request: Any, block_tokens: int, number: int) -> int:
    """Return what is equal for prompts with equal first 32 tokens, by vLLM's hash of the block that they end in.

    A prompt without such a hash has an id of its own.
    """
    block = -(-_HEAD_TOKENS // block_tokens) - 1
    hashes = request.block_hashes
    return int.from_bytes(hashes[block][:7], "big") if len(hashes) > block else -number - 1

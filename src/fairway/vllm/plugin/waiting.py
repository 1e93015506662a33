"""vLLM's waiting requests as the columns that policies see, in order of arrival."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

from fairway.engine import PrefillTime, Request, WaitingQueue
from fairway.policies import QueueView
from fairway.vllm.plugin.hits import Hits

NS_PER_S = 1_000_000_000


class Waiting:
    """A mirror of the requests that wait and could run, kept by whom the queue says came and left.

    A request has one number for as long as vLLM knows it, so a preempted one comes back as itself, with its first
    arrival.
    """

    def __init__(self, hits: Hits, block_tokens: int, prefill_time: PrefillTime, *, with_remaining: bool) -> None:
        self._hits = hits
        self._block_tokens = block_tokens
        self._prefill_time = prefill_time
        self._queue = WaitingQueue(prefill_time if with_remaining else None)
        self._mirrored: dict[Any, Request] = {}
        self._vllm_of: dict[int, Any] = {}  # by number
        self._numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._numbered = 0

    def __len__(self) -> int:
        return len(self._queue)

    def __contains__(self, request: Any) -> bool:
        return request in self._mirrored

    def has_seen(self, request: Any) -> bool:
        """Whether a request is or was here."""
        return request in self._numbers

    def is_current(self, request: Any) -> bool:
        """Whether a request is here with as many tokens as it has now."""
        mirrored = self._mirrored.get(request)
        return mirrored is not None and mirrored.n_tokens == request.num_tokens

    def add(self, request: Any, now_ns: int) -> int:
        """Take a vLLM request in; return its number."""
        number = self._numbers.get(request)
        if number is None:
            number = self._numbers[request] = self._numbered
            self._numbered += 1
        head = self._hits.head(request)
        mirrored = Request(
            request_id=number,
            arrival_ns=min(round(request.arrival_time * NS_PER_S), now_ns),
            prompt_tokens=request.num_tokens,  # what it had generated before a preemption is computed again
            output_tokens=0,
            chain=[],
            prefill_ns=self._prefill_time(request.num_tokens, 0),
            head_id=-number - 1 if head is None else int.from_bytes(head[:7], "big"),
        )
        self._mirrored[request] = mirrored
        self._vllm_of[number] = request
        self._queue.add(mirrored)
        return number

    def remove(self, requests: Iterable[Any]) -> None:
        """Let go of vLLM requests; those that are not here are passed over."""
        gone = [mirrored for request in requests if (mirrored := self._mirrored.pop(request, None)) is not None]
        self._queue.remove([self._queue.position(mirrored) for mirrored in gone])
        for mirrored in gone:
            del self._vllm_of[mirrored.request_id]

    def grown(self) -> list[Any]:
        """Return those that got more tokens while they waited: output that was under way when they were preempted."""
        return [request for request in self._mirrored if request.num_preemptions and not self.is_current(request)]

    def refresh_hits(self) -> None:
        """Bring all hits up to date. Cost: one look at each, and how far each moved."""
        for position, mirrored in enumerate(self._queue.requests):
            blocks = self._hits.blocks(self._vllm_of[mirrored.request_id], mirrored.frontier_blocks)
            if blocks != mirrored.frontier_blocks:
                mirrored.frontier_blocks = blocks
                self._queue.set_hit(position, blocks * self._block_tokens)

    def view(self, now_ns: int) -> QueueView:
        """Return the columns as they stand."""
        return self._queue.view(now_ns)

    def at(self, position: int) -> Any:
        """Return the vLLM request at a position of the view."""
        return self._vllm_of[self._queue.requests[position].request_id]

    def number(self, request: Any) -> int:
        """Return the number of a request that has been here."""
        return self._numbers[request]

    def overtaken_tokens(self, admitted: Iterable[Any]) -> int:
        """Return the uncached tokens of those ``admitted``, all still here, that are younger than one left behind."""
        leaving = [self._mirrored[request] for request in admitted]
        numbers = {one.request_id for one in leaving}
        oldest = next((one for one in self._queue.requests if one.request_id not in numbers), None)
        if oldest is None:
            return 0
        return sum(
            max(1, one.n_tokens - one.frontier_blocks * self._block_tokens)
            for one in leaving
            if one.order_key > oldest.order_key
        )

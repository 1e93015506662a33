"""vLLM's waiting queue with two additions: it can be walked in another order, and it tells who came and who left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vllm.v1.core.sched.request_queue import FCFSRequestQueue
from vllm.v1.request import Request


class PolicyQueue(FCFSRequestQueue):
    """Between two walks it is vLLM's queue, in vLLM's order.

    During a walk its head is the next request of the order given, and it is empty when that order ends; whoever was
    not taken stays where it was. Cost of a walk: one scan of the queue for each request taken.
    """

    def __init__(self) -> None:
        super().__init__()
        self._members: set[Request] = set()
        self.entered: dict[Request, None] = {}  # since `forget_changes`
        self.left: dict[Request, None] = {}
        self._order: Iterator[Request] | None = None
        self._head: Request | None = None
        self._taken: dict[Request, None] = {}

    def begin_walk(self, order: Iterator[Request]) -> None:
        """Give requests in ``order``, drawn one by one, until `end_walk`; who is not in the queue is passed over."""
        self._order, self._taken = order, {}
        self._head = self._next_head()

    def end_walk(self) -> list[Request]:
        """Return to vLLM's order; return who was taken and not put back."""
        self._order = self._head = None
        taken, self._taken = self._taken, {}
        return list(taken)

    def forget_changes(self) -> None:
        """From now on `entered` and `left` count anew."""
        self.entered, self.left = {}, {}

    # what vLLM calls

    def add_request(self, request: Request) -> None:
        """Put a request at the end."""
        super().add_request(request)
        self._enter(request)

    def prepend_request(self, request: Request) -> None:
        """Put a request, as a rule a preempted one, at the head."""
        super().prepend_request(request)
        self._enter(request)

    def prepend_requests(self, requests: Iterable[Request]) -> None:
        """Put requests that were skipped in a walk back at the head."""
        listed = list(requests)
        super().prepend_requests(listed)
        for request in listed:
            self._enter(request)

    def peek_request(self) -> Request:
        """Return the head."""
        return super().peek_request() if self._order is None else self._walked_head()

    def pop_request(self) -> Request:
        """Take the head out."""
        if self._order is None:
            request: Request = super().pop_request()
        else:
            request = self._walked_head()
            self.remove(request)
        self._taken[request] = None
        self._leave(request)
        self._head = self._next_head()
        return request

    def remove_request(self, request: Request) -> None:
        """Take one request out."""
        super().remove_request(request)
        self._leave(request)

    def remove_requests(self, requests: Iterable[Request]) -> None:
        """Take requests out; vLLM also names some that are in another queue."""
        gone = self._members.intersection(requests)
        super().remove_requests(gone)
        for request in gone:
            self._leave(request)

    def __bool__(self) -> bool:
        return len(self) > 0 if self._order is None else self._head is not None

    def _walked_head(self) -> Request:
        if self._head is None:
            raise IndexError("peek from an empty queue")
        return self._head

    def _next_head(self) -> Request | None:
        if self._order is None:
            return None
        return next((request for request in self._order if request in self._members), None)

    def _enter(self, request: Request) -> None:
        self._members.add(request)
        self._taken.pop(request, None)
        self.entered[request] = None

    def _leave(self, request: Request) -> None:
        self._members.discard(request)
        self.entered.pop(request, None)
        self.left[request] = None

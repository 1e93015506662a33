"""vLLM's waiting queue, which for the time of a step can be walked in another order."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator

from vllm.v1.core.sched.request_queue import RequestQueue
from vllm.v1.request import Request


class PolicyQueue(RequestQueue):
    """First come, first served, as vLLM's own, except during a walk.

    Then the head is the next request of the order given, drawn when vLLM asks for it, and the queue is empty when the
    order ends. Who was not taken stays where it was. Every call costs the requests that it names, however many wait.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[Request, None] = OrderedDict()
        self._order: Iterator[Request] | None = None
        self._head: Request | None = None

    def begin_walk(self, order: Iterator[Request]) -> None:
        """Give requests in ``order`` until `end_walk`; who does not wait here is passed over."""
        self._order = order

    def end_walk(self) -> None:
        """Return to the order of arrival."""
        self._order = self._head = None

    def add_request(self, request: Request) -> None:
        """Put a request at the end."""
        self._waiting[request] = None

    def prepend_request(self, request: Request) -> None:
        """Put a request at the head."""
        self._waiting[request] = None
        self._waiting.move_to_end(request, last=False)

    def prepend_requests(self, requests: Iterable[Request]) -> None:
        """Put requests at the head, the last one first, as vLLM's own queue does."""
        for request in requests:
            self.prepend_request(request)

    def peek_request(self) -> Request:
        """Return the head; IndexError if there is none."""
        head = self._first()
        if head is None:
            raise IndexError("peek from an empty queue")
        return head

    def pop_request(self) -> Request:
        """Take the head out; IndexError if there is none."""
        head = self._first()
        if head is None:
            raise IndexError("pop from an empty queue")
        del self._waiting[head]
        self._head = None
        return head

    def remove_request(self, request: Request) -> None:
        """Take a request out."""
        del self._waiting[request]

    def remove_requests(self, requests: Iterable[Request]) -> None:
        """Take requests out; vLLM also names some that are in another queue."""
        for request in requests:
            self._waiting.pop(request, None)

    def __bool__(self) -> bool:
        return self._first() is not None

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Request]:
        return iter(self._waiting)

    def _first(self) -> Request | None:
        if self._order is None:
            return next(iter(self._waiting), None)
        if self._head is None:
            for request in self._order:
                if request in self._waiting:
                    self._head = request
                    break
        return self._head

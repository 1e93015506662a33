"""The waiting queue of a server: it tells who came and who left since the last hook, and who was taken in a walk."""

from __future__ import annotations

from collections.abc import Iterable

from vllm.v1.request import Request

from fairway.vllm.policy_queue import PolicyQueue


class WatchedQueue(PolicyQueue):
    """A queue whose changes are written down; that costs no more than the changes."""

    def __init__(self) -> None:
        super().__init__()
        self._entered: dict[Request, None] = {}  # since `changes`
        self._left: dict[Request, None] = {}
        self._taken: dict[Request, None] = {}

    def taken(self) -> list[Request]:
        """Return who was taken from the head since this was last asked, and not put back."""
        taken, self._taken = self._taken, {}
        return list(taken)

    def changes(self) -> tuple[dict[Request, None], dict[Request, None]]:
        """Return who came and who left since this was last asked."""
        changes = self._entered, self._left
        self._entered, self._left = {}, {}
        return changes

    def enter_anew(self) -> None:
        """Let everybody who waits have just come."""
        self._entered, self._left = dict.fromkeys(self), {}

    def add_request(self, request: Request) -> None:
        """Put a request at the end."""
        super().add_request(request)
        self._entered[request] = None

    def prepend_request(self, request: Request) -> None:
        """Put a request at the head; one that was taken from there in this step never left."""
        super().prepend_request(request)
        if request in self._taken:
            del self._taken[request]
        else:
            self._entered[request] = None

    def pop_request(self) -> Request:
        """Take the head out."""
        request = super().pop_request()
        if request in self._entered:
            self._leave(request)
        else:
            self._taken[request] = None
        return request

    def remove_request(self, request: Request) -> None:
        """Take a request out."""
        super().remove_request(request)
        self._leave(request)

    def remove_requests(self, requests: Iterable[Request]) -> None:
        """Take requests out; vLLM also names some that are in another queue."""
        gone = list(requests)
        super().remove_requests(gone)
        for request in gone:
            self._leave(request)

    def _leave(self, request: Request) -> None:
        self._entered.pop(request, None)
        self._left[request] = None

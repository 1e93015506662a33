"""Servers that stay up from one trace to the next, since a start takes as long as a short trace."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from fairway.serving.server import RunningServer, Serving, running_server


class Servers:
    """Started as they are asked for; beyond ``most_at_once`` the one that was not asked for longest is stopped.

    What is idle on a CPU computes nothing, so that several can stand side by side there; a card holds one. Their output
    goes to ``logs``, a file a start. Used as a context, which stops all at its end.
    """

    def __init__(self, logs: Path, most_at_once: int) -> None:
        self._logs = logs
        self._most_at_once = most_at_once
        self._started = 0
        self._running: dict[tuple[str, ...], tuple[ExitStack, RunningServer]] = {}  # the last asked for at the end

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with ExitStack() as all_of_them:  # stops the others too if one does not stop
            for stack, _ in self._running.values():
                all_of_them.push(stack)
            self._running.clear()

    def get(self, serving: Serving) -> RunningServer:
        """Return a server with these settings that serves; raises `InputError` if it does not come up."""
        key = tuple(serving.arguments(port=0))
        found = self._running.pop(key, None) or self._start(serving)
        self._running[key] = found
        return found[1]

    def _start(self, serving: Serving) -> tuple[ExitStack, RunningServer]:
        while len(self._running) >= self._most_at_once:
            stack, _ = self._running.pop(next(iter(self._running)))
            stack.close()
        self._started += 1
        log = self._logs / f"{self._started}-{serving.policy or 'none'}-{serving.limits.cache_blocks}.log"
        stack = ExitStack()
        return stack, stack.enter_context(running_server(serving, log))

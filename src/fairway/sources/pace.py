"""One request at a time, and no more in a second than a service allows, over all of a user's processes on a machine."""

from __future__ import annotations

import fcntl
import json
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairway.errors import InputError

STALE_S = 3600.0  # a time so far ahead was written before the clock was set back
BLOCK_S = 600.0  # how long EDGAR refuses whoever asked too fast


@dataclass
class _State:
    """What the processes tell each other; times in seconds of the system's clock."""

    next_s: float = 0.0  # no request before
    blocked_until_s: float = 0.0
    blocked_agent: str = ""


class Pace:
    """Spaces requests to one service by a file that all processes lock.

    A turn lasts until the answer's first bytes are there, and the next one begins ``1 / requests_per_s`` later. So the
    service saw any two requests at least that far apart, however long they were on their way. A killed process gives
    its turn back, and the next one begins that much later as well.
    """

    def __init__(self, service: str, agent: str, requests_per_s: float) -> None:
        name = re.sub(r"[^A-Za-z0-9.-]+", "-", f"fairway-{os.getuid()}-{service}")
        self.file = Path(tempfile.gettempdir()) / f"{name}.pace"
        self._agent = agent
        self._interval_s = 1.0 / requests_per_s

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn and hold it.

        Raises:
            InputError: the service refused this user agent a short while ago.
        """
        with self._locked() as handle:
            state = self._read(handle)
            self._refuse_blocked(state)
            time.sleep(max(0.0, state.next_s - time.time()))
            self._space(handle, state)  # whoever is killed in its turn may have asked already
            try:
                yield
            finally:
                self._space(handle, state)

    def _space(self, handle: int, state: _State) -> None:
        state.next_s = time.time() + self._interval_s
        _write(handle, state)

    def pause(self, seconds: float) -> None:
        """Let no process ask for so long, as the service wished."""
        with self._locked() as handle:
            state = self._read(handle)
            state.next_s = max(state.next_s, time.time() + seconds)
            _write(handle, state)

    def block(self) -> None:
        """Stop all processes with this user agent: the service refused it."""
        with self._locked() as handle:
            state = self._read(handle)
            state.blocked_until_s, state.blocked_agent = time.time() + BLOCK_S, self._agent
            _write(handle, state)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        handle = os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield handle
        finally:
            os.close(handle)

    def _read(self, handle: int) -> _State:
        text = os.pread(handle, 4096, 0).decode("utf-8", "replace")
        try:
            state = _State(**json.loads(text)) if text else _State()
        except (TypeError, ValueError):  # cut off by a kill
            state = _State(next_s=os.fstat(handle).st_mtime + self._interval_s)
        if state.next_s > time.time() + STALE_S:
            state.next_s = 0.0
        return state

    def _refuse_blocked(self, state: _State) -> None:
        left_s = state.blocked_until_s - time.time()
        if state.blocked_agent == self._agent and 0 < left_s <= BLOCK_S:
            raise InputError(
                f"the service refused {self._agent!r} a short while ago",
                remedy=f"wait {left_s:.0f} s, or correct the contact; {self.file} remembers the refusal",
            )


def _write(handle: int, state: _State) -> None:
    content = json.dumps(vars(state)).encode("utf-8")
    os.pwrite(handle, content, 0)
    os.ftruncate(handle, len(content))

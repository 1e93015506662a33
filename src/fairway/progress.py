"""Progress of long work on standard error: how far, how long so far, about how long still."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

SECONDS_BETWEEN_LINES = 10.0
LEAST_SHARE = 0.01  # before that the time left is a wild guess


class Progress:
    """Says at most every ten seconds how much of the work is done."""

    def __init__(self, label: str, stream: TextIO = sys.stderr, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._label = label
        self._stream = stream
        self._clock_s = clock_s
        self._began_s = self._said_s = clock_s()
        self._first: tuple[float, float] | None = None  # when it was first told of a share, and of which

    def update(self, share: float) -> None:
        """Take note that ``share`` (0 to 1) of the work is done."""
        now_s = self._clock_s()
        if self._first is None:
            self._first = now_s, share
        first_s, first_share = self._first
        if now_s - self._said_s < SECONDS_BETWEEN_LINES or share - first_share < LEAST_SHARE:
            return
        self._said_s = now_s
        # What came before the first word, such as compiling, does not come again.
        left_s = (now_s - first_s) * (1 - share) / (share - first_share)
        spent_s = now_s - self._began_s
        print(f"{self._label}: {share:.0%} after {spent_s:.0f} s, about {left_s:.0f} s left", file=self._stream)

    def update_part(self, parts_done: int, parts: int, share: float) -> None:
        """Take note that, of the work's equal parts, some are done and ``share`` (0 to 1) of the next one."""
        self.update((parts_done + share) / parts)

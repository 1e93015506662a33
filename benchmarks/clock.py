"""What is taken of a stretch of code: seconds on the wall, and seconds of the processor for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

Result = TypeVar("Result")


class Taken(NamedTuple):
    """Wall and processor time of a call; the same on a quiet machine."""

    wall_s: float
    cpu_s: float


def timed(call: Callable[[], Result]) -> tuple[Result, Taken]:
    """Return what ``call`` returns, and how long it took."""
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    result = call()
    return result, Taken(time.perf_counter() - wall_s, time.process_time() - cpu_s)

"""What is taken of a stretch of code: seconds on the wall, and seconds of the processor for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

Result = TypeVar("Result")


LOOPS = 1_000_000
ATTEMPTS = 5


class Taken(NamedTuple):
    """Wall and processor time of a call; the same on a quiet machine."""

    wall_s: float
    cpu_s: float


def timed(call: Callable[[], Result]) -> tuple[Result, Taken]:
    """Return what ``call`` returns, and how long it took."""
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    result = call()
    return result, Taken(time.perf_counter() - wall_s, time.process_time() - cpu_s)


def python_loop_ms() -> float:
    """Return how long a million multiplications and additions take Python now, at best: how fast this machine is today.

    Shared machines differ from day to day by more than their processors' names say.
    """
    return round(min(timed(_loop)[1].wall_s for _ in range(ATTEMPTS)) * 1000, 1)


def _loop() -> int:
    total = 0
    for number in range(LOOPS):
        total += number * number
    return total

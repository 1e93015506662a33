"""A CPU engine's memory: what a step frees is kept for the next one.

As glibc comes, it gives every large piece back, and each step of 2,000 tokens asks the kernel for tens of megabytes of
zeroed pages again: a tenth of its time and more, that depends on what else the machine does.
"""

from __future__ import annotations

import ctypes
import sys

# mallopt(3): pieces from the kernel by mmap, and free memory at the end above which it is given back.
_MMAP_MAX, _MMAP_MAX_CODE, _NO_PIECES = "MALLOC_MMAP_MAX_", -4, 0
_TRIM_THRESHOLD, _TRIM_THRESHOLD_CODE, _NEVER = "MALLOC_TRIM_THRESHOLD_", -1, 2**31 - 1

KEEPING_MEMORY = {_MMAP_MAX: str(_NO_PIECES), _TRIM_THRESHOLD: str(_NEVER)}  # environment of a process to be started


def keep_memory() -> None:
    """Let this process keep what it frees, as one does that is started with `KEEPING_MEMORY`; nothing without glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_MMAP_MAX_CODE, _NO_PIECES)
        mallopt(_TRIM_THRESHOLD_CODE, _NEVER)

"""Trace files of either kind, told apart by name: ``.parquet`` is Parquet, everything else JSON lines."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from fairway.errors import InputError
from fairway.traces import mooncake
from fairway.traces.header import is_parquet
from fairway.traces.trace import Trace


def read_trace(path: Path, *, block_tokens: int | None = None) -> Trace:
    """Read a trace file; with a header beside it, hold the file against the header.

    Without a header the first request arrives at 0 and ``block_tokens`` is 512 unless given. With one, times stand as
    written. Rows must be in arrival order: a file that is not is refused, never sorted. The same trace in either kind
    of file reads as the same arrays.

    Raises:
        InputError: the file cannot be read, is empty or a Git LFS pointer, a row is wrong (with its line or number), or
            file and header disagree.
    """
    trace: Trace = (_parquet() if is_parquet(path) else mooncake).read_trace(path, block_tokens=block_tokens)
    return trace


def write_trace(trace: Trace, path: Path) -> None:
    """Write a trace and its header; each file appears whole or not at all.

    The header is ``trace.header`` with the facts about the file put in.

    Raises:
        InputError: JSON lines are asked for and an arrival is not a whole number of microseconds, their resolution.
    """
    (_parquet() if is_parquet(path) else mooncake).write_trace(trace, path)


def _parquet() -> ModuleType:
    """Import the Parquet files' module only when it is asked for: the rest of this package needs numpy alone."""
    try:
        return importlib.import_module("fairway.traces.parquet")
    except ModuleNotFoundError as error:
        raise InputError(
            f"traces in Parquet need {error.name}", remedy="install it, or give the trace as JSON lines"
        ) from error

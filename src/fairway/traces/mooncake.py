"""Trace files in Mooncake's format: JSON lines, and a header file beside those of our own.

Source of the format: kvcache-ai/Mooncake, FAST25-release/traces. Public traces have no header; their blocks hold 512
tokens and their times are milliseconds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from fairway.errors import InputError
from fairway.files import atomic_path, sha256
from fairway.traces.columns import Columns
from fairway.traces.header import check_checksum, check_requests, layout_of, read_header, time_unit, write_header
from fairway.traces.numbered_lines import numbered_lines
from fairway.traces.row import NS_PER_US, Row, format_row, parse_row
from fairway.traces.trace import Trace


def read_trace(path: Path, *, block_tokens: int | None = None) -> Trace:
    """Read a trace file; with a header beside it, hold the file against the header.

    Without a header the first request arrives at 0 and ``block_tokens`` is 512 unless given. With one, times stand as
    written. Rows must be in arrival order: a file that is not is refused, never sorted.

    Raises:
        InputError: the file cannot be read, is empty or a Git LFS pointer, a row is wrong (with its line), or file and
            header disagree.
    """
    header = read_header(path)
    layout = layout_of(path, header, block_tokens)
    digest = hashlib.sha256()
    columns = Columns()
    for place, text in numbered_lines(path):
        digest.update(text)
        columns.add(parse_row(text, place), layout, place)
    if not columns.kind:
        raise InputError("the trace is empty", remedy="fetch or build it again", file=path)
    if header is None:
        return columns.trace(layout, {"time_unit": time_unit(path)}, start_ns=columns.arrival_ns[0])
    check_requests(path, header, len(columns.kind))
    check_checksum(path, header, digest.hexdigest())
    return columns.trace(layout, header, start_ns=0)


def write_trace(trace: Trace, path: Path) -> None:
    """Write a trace and its header; each file appears whole or not at all.

    The header is ``trace.header`` with the facts about the file put in.

    Raises:
        InputError: an arrival is not a whole number of microseconds, the format's resolution.
    """
    if np.any(trace.arrival_ns % NS_PER_US):
        raise InputError(
            "an arrival is finer than a microsecond", remedy="round arrivals to whole microseconds", file=path
        )
    with atomic_path(path) as part:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(trace_lines(trace))
        checksum = sha256(part)
    write_header(path, trace.header, block_tokens=trace.block_tokens, requests=len(trace), checksum=checksum)


def trace_lines(trace: Trace) -> Iterator[str]:
    """Yield a trace's lines, line ends included."""
    return (f"{format_row(row)}\n" for row in _rows(trace))


def _rows(trace: Trace) -> Iterator[Row]:
    ids = trace.block_ids.tolist()
    offsets = trace.block_offsets.tolist()
    columns: Iterable[tuple[int, int, int, str, str, int, int]] = zip(
        trace.arrival_ns.tolist(),
        trace.prompt_tokens.tolist(),
        trace.output_tokens.tolist(),
        trace.kind,
        trace.phase,
        offsets[:-1],
        offsets[1:],
        strict=True,
    )
    for arrival_ns, prompt_tokens, output_tokens, kind, phase, start, end in columns:
        yield Row(arrival_ns, prompt_tokens, output_tokens, ids[start:end], kind, phase)

"""Trace files in Mooncake's format: JSON lines, and a header file beside those of our own.

Source of the format: kvcache-ai/Mooncake, FAST25-release/traces. Public traces have no header; their blocks hold 512
tokens and their times are milliseconds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fairway.errors import InputError
from fairway.files import atomic_path, sha256
from fairway.traces.columns import Columns, Layout
from fairway.traces.header import FORMAT_VERSION, TIME_UNIT, header_path, read_header, write_header
from fairway.traces.numbered_lines import numbered_lines
from fairway.traces.row import NS_PER_US, Row, format_row, parse_row
from fairway.traces.trace import Trace

PUBLIC_BLOCK_TOKENS = 512


def read_trace(path: Path, *, block_tokens: int | None = None) -> Trace:
    """Read a trace file; with a header beside it, hold the file against the header.

    Without a header the first request arrives at 0 and ``block_tokens`` is 512 unless given. With one, times stand as
    written. Rows must be in arrival order: a file that is not is refused, never sorted.

    Raises:
        InputError: the file cannot be read, is empty or a Git LFS pointer, a row is wrong (with its line), or file and
            header disagree.
    """
    header = read_header(path)
    layout = _layout(path, header, block_tokens)
    digest = hashlib.sha256()
    columns = Columns()
    for place, text in numbered_lines(path):
        digest.update(text)
        columns.add(parse_row(text, place), layout, place)
    if not columns.kind:
        raise InputError("the trace is empty", remedy="fetch or build it again", file=path)
    if header is None:
        return columns.trace(layout, {"time_unit": TIME_UNIT}, start_ns=columns.arrival_ns[0])
    _check_against_header(path, header, len(columns.kind), digest.hexdigest())
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
    facts = {
        "format_version": FORMAT_VERSION,
        "time_unit": TIME_UNIT,
        "block_tokens": trace.block_tokens,
        "full_blocks_only": False,
        "requests": len(trace),
        "sha256": checksum,
    }
    write_header(path, facts | {name: value for name, value in trace.header.items() if name not in facts})


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


def _layout(path: Path, header: Mapping[str, Any] | None, block_tokens: int | None) -> Layout:
    if block_tokens is not None and block_tokens < 1:
        raise InputError(f"block size {block_tokens} is below 1", remedy="give the trace's tokens a block")
    if header is None:
        return Layout(PUBLIC_BLOCK_TOKENS if block_tokens is None else block_tokens, full_blocks_only=False)
    if block_tokens not in (None, header["block_tokens"]):
        raise InputError(
            f"blocks of {block_tokens} tokens were asked for, but the header says {header['block_tokens']}",
            remedy="leave the block size to the header",
            file=header_path(path),
        )
    return Layout(header["block_tokens"], header["full_blocks_only"])


def _check_against_header(path: Path, header: Mapping[str, Any], rows: int, checksum: str) -> None:
    remedy = "build the trace again, or remove the header if the change is meant"
    if header["requests"] != rows:
        raise InputError(
            f"the file has {rows} requests, but its header says {header['requests']}", remedy=remedy, file=path
        )
    if header["sha256"] != checksum:
        raise InputError(
            "the file was changed since its header was written: the SHA-256 differs", remedy=remedy, file=path
        )

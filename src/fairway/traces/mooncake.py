"""Trace files in Mooncake's format: JSON lines, and a header file beside those of our own.

Source of the format: kvcache-ai/Mooncake, FAST25-release/traces. Public traces have no header; their blocks hold 512
tokens and their times are milliseconds.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fairway.errors import InputError
from fairway.files import atomic_path, sha256
from fairway.traces.header import FORMAT_VERSION, TIME_UNIT, header_path, read_header, write_header
from fairway.traces.row import NS_PER_US, Place, Row, format_row, parse_row
from fairway.traces.trace import Int64Array, Trace

PUBLIC_BLOCK_TOKENS = 512
LFS_MARK = b"version https://git-lfs"
LFS_POINTER_BYTES = 1024  # a pointer is shorter than this by its specification


@dataclass(frozen=True)
class _Layout:
    """How the rows of one file are to be read."""

    block_tokens: int
    full_blocks_only: bool


@dataclass
class _Columns:
    """The rows read so far, column by column, in machine integers: a file of 100 MB must not become 1 GB."""

    arrival_ns: array[int] = field(default_factory=lambda: array("q"))
    prompt_tokens: array[int] = field(default_factory=lambda: array("q"))
    output_tokens: array[int] = field(default_factory=lambda: array("q"))
    block_ids: array[int] = field(default_factory=lambda: array("q"))
    block_counts: array[int] = field(default_factory=lambda: array("q"))
    kind: list[str] = field(default_factory=list)
    phase: list[str] = field(default_factory=list)

    def append(self, row: Row) -> None:
        self.arrival_ns.append(row.arrival_ns)
        self.prompt_tokens.append(row.prompt_tokens)
        self.output_tokens.append(row.output_tokens)
        self.block_ids.extend(row.block_ids)
        self.block_counts.append(len(row.block_ids))
        self.kind.append(row.kind)
        self.phase.append(row.phase)


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
    columns = _Columns()
    try:
        with path.open("rb") as file:
            _refuse_lfs_pointer(file.read(LFS_POINTER_BYTES), path)
            file.seek(0)
            for line, text in enumerate(file, start=1):
                digest.update(text)
                _add_row(columns, parse_row(text, Place(path, line)), layout, Place(path, line))
    except OSError as error:
        raise InputError(
            f"the trace cannot be read ({error.strerror})", remedy="check the path, or build the trace first", file=path
        ) from error
    if not columns.kind:
        raise InputError("the trace is empty", remedy="fetch or build it again", file=path)
    if header is None:
        return _trace(columns, layout, {"time_unit": TIME_UNIT}, start_ns=columns.arrival_ns[0])
    _check_against_header(path, header, len(columns.kind), digest.hexdigest())
    return _trace(columns, layout, header, start_ns=0)


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


def _layout(path: Path, header: Mapping[str, Any] | None, block_tokens: int | None) -> _Layout:
    if block_tokens is not None and block_tokens < 1:
        raise InputError(f"block size {block_tokens} is below 1", remedy="give the trace's tokens a block")
    if header is None:
        return _Layout(PUBLIC_BLOCK_TOKENS if block_tokens is None else block_tokens, full_blocks_only=False)
    if block_tokens not in (None, header["block_tokens"]):
        raise InputError(
            f"blocks of {block_tokens} tokens were asked for, but the header says {header['block_tokens']}",
            remedy="leave the block size to the header",
            file=header_path(path),
        )
    return _Layout(header["block_tokens"], header["full_blocks_only"])


def _refuse_lfs_pointer(beginning: bytes, path: Path) -> None:
    if not beginning.startswith(LFS_MARK):
        return
    size = re.search(rb"^size (\d{1,18})$", beginning, re.MULTILINE)
    bytes_text = f"{int(size[1]):,} bytes" if size else "unknown size"
    raise InputError(
        f"this is a Git LFS pointer to a file of {bytes_text}, not the trace",
        remedy="run 'git lfs pull' in the repository it comes from, or download the file itself",
        file=path,
    )


def _add_row(columns: _Columns, row: Row, layout: _Layout, place: Place) -> None:
    if columns.arrival_ns and row.arrival_ns < columns.arrival_ns[-1]:
        place.refuse("'timestamp' is earlier than the line before", "sort the lines by timestamp, keeping ties as is")
    rounding = 0 if layout.full_blocks_only else layout.block_tokens - 1
    blocks = (row.prompt_tokens + rounding) // layout.block_tokens
    if len(row.block_ids) != blocks:
        place.refuse(
            f"{row.prompt_tokens} tokens make {blocks} blocks of {layout.block_tokens}, "
            f"but 'hash_ids' has {len(row.block_ids)}",
            "check the block size, and that this is a trace in Mooncake's format (milliseconds, 512-token blocks)",
        )
    columns.append(row)


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


def _trace(columns: _Columns, layout: _Layout, header: Mapping[str, Any], start_ns: int) -> Trace:
    prompt_tokens = _int64(columns.prompt_tokens)
    block_ids = _int64(columns.block_ids)
    offsets = _offsets(_int64(columns.block_counts))
    if layout.full_blocks_only:
        block_ids, offsets = _with_tails(block_ids, offsets, prompt_tokens % layout.block_tokens > 0)
    return Trace(
        arrival_ns=_int64(columns.arrival_ns) - start_ns,
        prompt_tokens=prompt_tokens,
        output_tokens=_int64(columns.output_tokens),
        block_ids=block_ids,
        block_offsets=offsets,
        block_tokens=layout.block_tokens,
        kind=tuple(columns.kind),
        phase=tuple(columns.phase),
        header=header,
    )


def _with_tails(block_ids: Int64Array, offsets: Int64Array, has_tail: Any) -> tuple[Int64Array, Int64Array]:
    """Give each unlisted partial last block an id of its own: nothing says that it is shared."""
    unused = int(block_ids.max(initial=-1)) + 1
    tail_ids = np.arange(unused, unused + int(has_tail.sum()), dtype=np.int64)
    return np.insert(block_ids, offsets[1:][has_tail], tail_ids), _offsets(np.diff(offsets) + has_tail)


def _offsets(counts: Int64Array) -> Int64Array:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])


def _int64(values: array[int]) -> Int64Array:
    return np.array(values, dtype=np.int64)

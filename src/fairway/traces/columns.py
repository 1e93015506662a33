"""Rows collected into the columns of a trace, each row checked against the layout of its file."""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from fairway.traces.row import Place, Row
from fairway.traces.trace import Int64Array, Trace, in_narrowest_type

Tokens = TypeVar("Tokens", int, Int64Array)


@dataclass(frozen=True)
class Layout:
    """How the rows of one file are to be read."""

    block_tokens: int
    full_blocks_only: bool

    def blocks(self, prompt_tokens: Tokens) -> Tokens:
        """Return how many ids a prompt of that length has; for an array, each of its lengths."""
        return prompt_tokens // self.block_tokens if self.full_blocks_only else -(-prompt_tokens // self.block_tokens)


@dataclass
class Columns:
    """The rows read so far, column by column, in machine integers: a file of 100 MB must not become 1 GB."""

    arrival_ns: array[int] = field(default_factory=lambda: array("q"))
    prompt_tokens: array[int] = field(default_factory=lambda: array("q"))
    output_tokens: array[int] = field(default_factory=lambda: array("q"))
    block_ids: array[int] = field(default_factory=lambda: array("q"))
    block_counts: array[int] = field(default_factory=lambda: array("q"))
    kind: list[str] = field(default_factory=list)
    phase: list[str] = field(default_factory=list)

    def add(self, row: Row, layout: Layout, place: Place) -> None:
        """Add a row.

        Raises:
            InputError: it arrives before the last one, or its ids are not as many as its length has blocks.
        """
        if self.arrival_ns and row.arrival_ns < self.arrival_ns[-1]:
            place.refuse(
                "'timestamp' is earlier than the line before", "sort the lines by timestamp, keeping ties as is"
            )
        check_blocks(row, layout, place)
        self.arrival_ns.append(row.arrival_ns)
        self.prompt_tokens.append(row.prompt_tokens)
        self.output_tokens.append(row.output_tokens)
        self.block_ids.extend(row.block_ids)
        self.block_counts.append(len(row.block_ids))
        self.kind.append(row.kind)
        self.phase.append(row.phase)

    def trace(self, layout: Layout, header: Mapping[str, Any], start_ns: int) -> Trace:
        """Return the rows as a trace whose time 0 is ``start_ns``."""
        trace = Trace(
            arrival_ns=_int64(self.arrival_ns) - start_ns,
            prompt_tokens=_int64(self.prompt_tokens),
            output_tokens=_int64(self.output_tokens),
            block_ids=in_narrowest_type(_int64(self.block_ids)),
            block_offsets=offsets(_int64(self.block_counts)),
            block_tokens=layout.block_tokens,
            kind=tuple(self.kind),
            phase=tuple(self.phase),
            header=header,
        )
        return with_tails(trace) if layout.full_blocks_only else trace


def check_blocks(row: Row, layout: Layout, place: Place) -> None:
    """Refuse a row whose ids are not as many as its length has blocks."""
    listed = len(row.block_ids)
    if listed != layout.blocks(row.prompt_tokens):
        place.refuse(
            disagreement(row.prompt_tokens, listed, layout),
            "check the block size and the format: blocks of Mooncake's public traces hold 512 tokens, of Bailian's 16",
        )


def disagreement(prompt_tokens: int, listed: int, layout: Layout) -> str:
    """Say that a prompt does not have as many ids as its length has blocks."""
    return (
        f"{prompt_tokens} tokens make {layout.blocks(prompt_tokens)} blocks of {layout.block_tokens}, "
        f"but 'hash_ids' has {listed}"
    )


def with_tails(trace: Trace) -> Trace:
    """Give each partial last block, none of them listed, an id of its own: nothing says that it is shared."""
    has_tail = trace.prompt_tokens % trace.block_tokens > 0
    unused = int(trace.block_ids.max(initial=-1)) + 1
    tail_ids = np.arange(unused, unused + int(has_tail.sum()), dtype=np.int64)
    block_ids = np.insert(trace.block_ids.astype(np.int64), trace.block_offsets[1:][has_tail], tail_ids)
    return dataclasses.replace(
        trace,
        block_ids=in_narrowest_type(block_ids),
        block_offsets=offsets(np.diff(trace.block_offsets) + has_tail),
    )


def offsets(counts: Int64Array) -> Int64Array:
    """Return where each of the runs of these lengths begins, and where the last one ends."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])


def _int64(values: array[int]) -> Int64Array:
    return np.array(values, dtype=np.int64)

"""The prompts of a trace as a trie of segments: runs of blocks that prompts have as a whole or not at all.

A prompt of ``n`` tokens is a chain of full engine blocks. Chains are cut where prompts part, where one ends, and at the
last block that can hit, ``(n - 1) // block_tokens``. What lies between two cuts is a segment. Building costs one
comparison for each id of the trace and a look-up for each segment of a prompt.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from fairway.core.compiling import compiled, inner, int64
from fairway.errors import InputError
from fairway.traces import Trace
from fairway.traces.trace import BlockIds, in_narrowest_type

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]

ROOT = 0  # the segment without blocks that all prompts share
NONE = -1
LONGEST_TRACE = 2**29  # requests; a trie of that many still numbers its segments in 32 bits


@dataclass(frozen=True, eq=False)
class Trie:
    """Segments, and each request's way through them. Segment 0 is the root.

    Request ``i`` can hit the segments ``path[path_start[i]:path_start[i] + path_segments[i]]``, first to last. If its
    prompt ends with a full block, that block is the segment ``last_segment[i]`` (else -1): it is never hit by its own
    prompt, only by longer ones, and every prompt that ends there computes a copy of its own.
    """

    parent: Int32Array  # (segments,)
    start_block: Int32Array  # (segments,) blocks before the segment
    blocks: Int32Array  # (segments,)
    level: Int32Array  # (segments,) segments before it, the root not counted
    path: Int32Array
    path_start: Int32Array | Int64Array  # (requests,)
    path_segments: Int32Array  # (requests,)
    last_segment: Int32Array  # (requests,)

    def reused_blocks(self) -> int:
        """Return how many blocks two prompts or more have in common."""
        ends = self.path_start + self.path_segments - 1
        deepest = np.where(self.path_segments > 0, self.path[ends], ROOT) if len(self.path) else np.zeros_like(ends)
        deepest = np.where(self.last_segment == NONE, deepest, self.last_segment)
        uses = np.bincount(deepest, minlength=len(self.parent))
        for level in range(int(self.level.max()), 0, -1):
            segments = np.flatnonzero(self.level == level)
            np.add.at(uses, self.parent[segments], uses[segments])
        return int(self.blocks[uses > 1].sum())


def build_trie(trace: Trace, engine_block_tokens: int) -> Trie:
    """Return the trie of a trace's prompts in blocks of ``engine_block_tokens``.

    Raises:
        InputError: neither block size is a multiple of the other, or the trace is too long to be numbered in 32 bits.
    """
    if len(trace) > LONGEST_TRACE:
        raise InputError(
            f"the trace has {len(trace)} requests, the replay takes {LONGEST_TRACE}", remedy="replay it in parts"
        )
    blocks_per_id, ids_per_block = _units(trace.block_tokens, engine_block_tokens)
    ids = in_narrowest_type(trace.block_ids)  # so that most traces need one compiled function, not two
    found = _build(ids, trace.block_offsets, trace.prompt_tokens, engine_block_tokens, blocks_per_id, ids_per_block)
    return Trie(*found)


def _units(trace_block_tokens: int, engine_block_tokens: int) -> tuple[int, int]:
    """Return engine blocks an id and ids an engine block; one of the two is 1."""
    if trace_block_tokens % engine_block_tokens == 0:
        return trace_block_tokens // engine_block_tokens, 1
    if engine_block_tokens % trace_block_tokens == 0:
        return 1, engine_block_tokens // trace_block_tokens
    raise InputError(
        f"blocks of {trace_block_tokens} tokens in the trace and {engine_block_tokens} in the engine do not divide",
        remedy="choose an engine block size that divides the trace's or is a multiple of it",
    )


@inner
def _common_end(
    ids: BlockIds,
    offsets: Int64Array,
    tokens: Int64Array,
    one: int,
    other: int,
    start: int,
    end: int,
    block_tokens: int,
    blocks_per_id: int,
    ids_per_block: int,
) -> int:
    """Return up to which block, from ``start`` to at most ``end``, two prompts have the same blocks.

    The last, partly filled id of a prompt stands for its own tokens only: it equals no full block, and another such id
    only if both hold as many tokens.
    """
    unit_tokens = block_tokens * blocks_per_id
    begin, behind = start // blocks_per_id * ids_per_block, ((end - 1) // blocks_per_id + 1) * ids_per_block
    one_full, other_full = tokens[one] // unit_tokens, tokens[other] // unit_tokens
    same = begin
    one_offset, other_offset = offsets[one], offsets[other]
    while same < behind and ids[one_offset + same] == ids[other_offset + same]:
        same += 1
    same //= ids_per_block
    first_partial = min(one_full, other_full)
    if first_partial < same and (one_full != other_full or tokens[one] % unit_tokens != tokens[other] % unit_tokens):
        same = first_partial
    return max(start, min(same * blocks_per_id, end))


@inner
def _place(
    table: Int32Array,
    node_parent: Int32Array,
    node_owner: Int32Array,
    node_start: Int32Array,
    ids: BlockIds,
    offsets: Int64Array,
    tokens: Int64Array,
    parent: int,
    request: int,
    start: int,
    block_tokens: int,
    blocks_per_id: int,
    ids_per_block: int,
) -> int:
    """Return where in the hash table the child of ``parent`` stands whose first block is the request's, or would."""
    mask = len(table) - 1
    first = offsets[request] + start // blocks_per_id * ids_per_block
    mixed = np.uint64(parent) * np.uint64(0x9E3779B97F4A7C15)
    for index in range(first, first + ids_per_block):
        mixed = (mixed ^ np.uint64(ids[index])) * np.uint64(0xD6E8FEB86659FD93)
        mixed ^= mixed >> np.uint64(32)
    place = int64(mixed & np.uint64(mask))
    while True:
        child = int64(table[place])
        if child == NONE:
            return place
        if node_parent[child] == parent:
            owner = int64(node_owner[child])
            same = _common_end(
                ids, offsets, tokens, owner, request, start, start + 1, block_tokens, blocks_per_id, ids_per_block
            )
            if same > start:
                return place
        place = (place + 1) & mask


@partial(compiled, makes_arrays=True)
def _build(
    ids: BlockIds,
    offsets: Int64Array,
    tokens: Int64Array,
    block_tokens: int,
    blocks_per_id: int,
    ids_per_block: int,
) -> tuple[Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int64Array, Int32Array, Int32Array]:
    requests = len(tokens)
    most = 3 * requests + 1  # a prompt adds at most its tail, where it parts from another, and its last block
    parent, owner = np.empty(most, np.int32), np.empty(most, np.int32)
    start, end = np.empty(most, np.int32), np.empty(most, np.int32)
    size = 4
    while size < 2 * most:
        size *= 2
    table = np.full(size, NONE, np.int32)
    parent[ROOT], owner[ROOT], start[ROOT], end[ROOT] = NONE, NONE, 0, 0
    nodes = int64(1)
    terminal = np.empty(requests, np.int32)
    for request in range(requests):
        length, limit = tokens[request] // block_tokens, (tokens[request] - 1) // block_tokens
        node, depth = int64(ROOT), int64(0)
        while depth < length:
            place = _place(
                table, parent, owner, start, ids, offsets, tokens, node, request, depth,
                block_tokens, blocks_per_id, ids_per_block,
            )  # fmt: skip
            child = int64(table[place])
            if child == NONE:
                parent[nodes], owner[nodes], start[nodes], end[nodes] = node, request, depth, length
                table[place] = nodes
                node, depth = nodes, length
                nodes += 1
                break
            upto = int64(min(end[child], length))
            same = _common_end(
                ids,
                offsets,
                tokens,
                int64(owner[child]),
                request,
                depth,
                upto,
                block_tokens,
                blocks_per_id,
                ids_per_block,
            )
            if same < end[child]:
                child = _cut(
                    table, parent, owner, start, end, ids, offsets, tokens, nodes, child, place, same,
                    block_tokens, blocks_per_id, ids_per_block,
                )  # fmt: skip
                nodes += 1
            node, depth = child, same
        if limit < length and start[node] < limit:
            place = _place(
                table, parent, owner, start, ids, offsets, tokens, int64(parent[node]), request, int64(start[node]),
                block_tokens, blocks_per_id, ids_per_block,
            )  # fmt: skip
            _cut(
                table, parent, owner, start, end, ids, offsets, tokens, nodes, node, place, limit,
                block_tokens, blocks_per_id, ids_per_block,
            )  # fmt: skip
            nodes += 1
        terminal[request] = node
    level = _levels(parent[:nodes])
    path, path_start, path_segments, last = _paths(parent, level, terminal, tokens, block_tokens)
    blocks = end[:nodes] - start[:nodes]
    return parent[:nodes].copy(), start[:nodes].copy(), blocks, level, path, path_start, path_segments, last


@inner
def _cut(
    table: Int32Array,
    parent: Int32Array,
    owner: Int32Array,
    start: Int32Array,
    end: Int32Array,
    ids: BlockIds,
    offsets: Int64Array,
    tokens: Int64Array,
    upper: int,
    node: int,
    place: int,
    depth: int,
    block_tokens: int,
    blocks_per_id: int,
    ids_per_block: int,
) -> int:
    """Cut ``node`` at ``depth``: its beginning becomes the new node ``upper``; the rest keeps its number.

    So the prompts that end in it and the nodes behind it need not be told.
    """
    parent[upper], owner[upper], start[upper], end[upper] = parent[node], owner[node], start[node], depth
    table[place] = upper
    parent[node], start[node] = upper, depth
    below = _place(
        table, parent, owner, start, ids, offsets, tokens, upper, int64(owner[node]), depth,
        block_tokens, blocks_per_id, ids_per_block,
    )  # fmt: skip
    table[below] = node
    return upper


@partial(inner, makes_arrays=True)
def _levels(parent: Int32Array) -> Int32Array:
    """Return how many segments lie before each one, the root not counted (it gets -1)."""
    level = np.full(len(parent), -2, np.int32)
    level[ROOT] = -1
    for node in range(len(parent)):
        above, steps = node, 0
        while level[above] == -2:
            above = parent[above]
            steps += 1
        known = level[above] + steps
        above = node
        while level[above] == -2:
            level[above] = known
            known -= 1
            above = parent[above]
    return level


@partial(inner, makes_arrays=True)
def _paths(
    parent: Int32Array, level: Int32Array, terminal: Int32Array, tokens: Int64Array, block_tokens: int
) -> tuple[Int32Array, Int64Array, Int32Array, Int32Array]:
    """Return the ways from the root, one for each segment where hits can end, and each request's."""
    requests = len(terminal)
    last, start = np.full(requests, NONE, np.int32), np.full(len(level), NONE, np.int64)
    path_start, path_segments = np.empty(requests, np.int64), np.empty(requests, np.int32)
    total = 0
    for request in range(requests):
        node = terminal[request]
        if tokens[request] % block_tokens == 0:
            last[request] = node
            node = parent[node]
        if start[node] == NONE:
            start[node] = total
            total += level[node] + 1
        path_start[request], path_segments[request] = start[node], level[node] + 1
    path = np.empty(total, np.int32)
    for node in range(len(level)):
        if start[node] == NONE:
            continue
        above = node
        for index in range(start[node] + level[node], start[node] - 1, -1):
            path[index] = above
            above = parent[above]
    return path, path_start, path_segments, last

"""Evictions that choose their victims: what `fairway.cache.EvictingPool` does under either of its orders, in segments.

Whom a policy wants spared, it wants spared with its whole hit: all resident blocks of a segment are alike. Under an
order by priority the blocks of a segment differ, but only its last resident one may go. Either way victims are taken
from the ends of runs of the free list, of which there are few.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fairway.core import layout as at
from fairway.core.blocks import Int32Array, Int64Array, drop_copy, look_up, note_change, take_blank, unlink
from fairway.core.compiling import inner, int64

Float64Array = npt.NDArray[np.float64]

LARGEST_RANK = 2**31 - 1  # behind it only what nobody wants

SPARED_IN, RANK = range(2)  # rows of `Worth.needed`
USES, COMPUTATIONS = range(2)  # rows of `Worth.counts`
COST_NS, PRIORITY = range(2)  # rows of `Worth.values`


class Worth(NamedTuple):
    """What segments and blocks are worth to who chooses victims; arrays that an eviction does not read are empty.

    Blocks are numbered by segments, each segment's from ``first_block`` on.
    """

    needed: (
        Int32Array  # (2, segments) the last step in which somebody wanted it spared, and its best wanter's rank then
    )
    wanters: Int64Array  # (most,) who is spared, the most precious first; room to find them
    keys: Int64Array  # (most,) their keys meanwhile
    first_block: Int64Array  # (segments,)
    children: Int32Array  # (segments,) segments with resident blocks right behind it
    counts: Int32Array  # (2, blocks)
    values: Float64Array  # (2, blocks)


@inner
def allocate_by_rank(
    segments: Int32Array, changed: Int32Array, state: Int64Array, settings: Int64Array, worth: Worth, count: int
) -> None:
    """Take free blocks: blank ones, unneeded ones, then by worst rank; equal ones least recently used first."""
    count = take_blank(state, count)
    ends = settings[at.LIST_ENDS]
    while count > 0:
        run, worst = int64(at.NONE), int64(at.NONE)
        candidate = int64(segments[ends, at.BEHIND])
        while candidate != ends and worst != LARGEST_RANK:
            rank = _rank(segments, state, settings, worth, candidate)
            if rank > worst:
                run, worst = candidate, rank
            candidate = int64(segments[candidate, at.BEHIND])
        taken = min(count, segments[run, at.RESIDENT])
        count -= taken
        _take(segments, changed, state, settings, run, taken)


@inner
def _rank(segments: Int32Array, state: Int64Array, settings: Int64Array, worth: Worth, run: int) -> int:
    segment = _segment(segments, settings, run)
    is_needed = worth.needed[SPARED_IN, segment] == state[at.CALLS]
    return int64(worth.needed[RANK, segment]) if is_needed else int64(LARGEST_RANK)


@inner
def spare(
    segments: Int32Array, requests: Int32Array, path: Int32Array, state: Int64Array, worth: Worth, count: int
) -> None:
    """Spare the current hits of the first ``count`` of ``worth.wanters`` in the step that begins."""
    step = state[at.CALLS] + 1
    for rank in range(count):
        request = worth.wanters[rank]
        begin = requests[request, at.PATH]
        _, _, levels = look_up(segments, requests, path, request)
        for index in range(begin + levels - 1, begin - 1, -1):
            segment = path[index]
            if worth.needed[SPARED_IN, segment] == step:
                break  # then so are all before it, with better ranks
            worth.needed[SPARED_IN, segment], worth.needed[RANK, segment] = step, rank


@inner
def use(
    segments: Int32Array,
    requests: Int32Array,
    path: Int32Array,
    measures: Float64Array,
    worth: Worth,
    request: int,
    hit_blocks: int,
    cost_ns: float,
) -> None:
    """Note that a request uses all blocks of its prompt, and computes those behind its hit at ``cost_ns`` a token."""
    begin, levels, last = requests[request, at.PATH], requests[request, at.SEGMENTS], requests[request, at.LAST]
    for level in range(levels + (last != at.NONE)):
        segment = path[begin + level] if level < levels else last
        first, start = worth.first_block[segment], segments[segment, at.START]
        for index in range(segments[segment, at.BLOCKS]):
            block = first + index
            worth.counts[USES, block] += 1
            if start + index >= hit_blocks:
                worth.counts[COMPUTATIONS, block] += 1
                worth.values[COST_NS, block] += cost_ns
            mean = worth.counts[USES, block] * worth.values[COST_NS, block] / max(1, worth.counts[COMPUTATIONS, block])
            worth.values[PRIORITY, block] = measures[at.AGE] + mean


@inner
def allocate_by_priority(
    segments: Int32Array,
    changed: Int32Array,
    state: Int64Array,
    settings: Int64Array,
    measures: Float64Array,
    worth: Worth,
    count: int,
) -> None:
    """Take free blocks: blank ones, then by priority those with nothing cached behind them, ties as they were freed."""
    count = take_blank(state, count)
    ends = settings[at.LIST_ENDS]
    while count > 0:
        run, lowest, next_lowest, wins_ties = int64(at.NONE), np.inf, np.inf, False
        candidate = int64(segments[ends, at.BEHIND])
        while candidate != ends:
            if _may_go(segments, settings, worth, candidate):
                priority = _priority(segments, settings, worth, candidate)
                if run == at.NONE or priority < lowest:
                    run, lowest, next_lowest, wins_ties = candidate, priority, lowest, False
                elif priority < next_lowest:
                    next_lowest, wins_ties = priority, True
            candidate = int64(segments[candidate, at.BEHIND])
        while True:
            measures[at.AGE] = max(measures[at.AGE], lowest)
            count -= 1
            segment, left = _segment(segments, settings, run), segments[run, at.RESIDENT] - 1
            _take(segments, changed, state, settings, run, int64(1))
            if left == 0:
                if segments[segment, at.RESIDENT] == 0:
                    worth.children[segments[segment, at.PARENT]] -= 1
                break
            lowest = _priority(segments, settings, worth, run)
            if count == 0 or lowest > next_lowest or (lowest == next_lowest and not wins_ties):
                break


@inner
def _may_go(segments: Int32Array, settings: Int64Array, worth: Worth, run: int) -> bool:
    """Whether the cache stays closed without the last block of a run."""
    if run >= settings[at.FIRST_COPY]:
        if segments[run, at.ELDER] != at.NONE or segments[run, at.YOUNGER] != at.NONE:
            return True
        return worth.children[segments[run, at.PARENT]] == 0
    return segments[run, at.RESIDENT] < segments[run, at.BLOCKS] or worth.children[run] == 0


@inner
def _priority(segments: Int32Array, settings: Int64Array, worth: Worth, run: int) -> float:
    block = worth.first_block[_segment(segments, settings, run)] + segments[run, at.RESIDENT] - 1
    return float(worth.values[PRIORITY, block])


@inner
def _segment(segments: Int32Array, settings: Int64Array, run: int) -> int:
    return int64(segments[run, at.PARENT]) if run >= settings[at.FIRST_COPY] else int64(run)


@inner
def _take(
    segments: Int32Array, changed: Int32Array, state: Int64Array, settings: Int64Array, run: int, count: int
) -> None:
    """Forget the last ``count`` blocks of a run of the free list."""
    state[at.EVICTED_BLOCKS] += count
    segments[run, at.RESIDENT] -= count
    if segments[run, at.RESIDENT] == 0:
        unlink(segments, run)
    if run >= settings[at.FIRST_COPY]:
        run = drop_copy(segments, state, run)
    note_change(segments, changed, state, settings, run)

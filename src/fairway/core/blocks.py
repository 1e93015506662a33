"""The prefix cache in segments: what `fairway.cache.BlockPool` does, at the cost of segments instead of blocks.

Why a segment behaves as one: whoever hits any of its resident blocks hits all of them, so they are held alike; they are
released together, last block first, so while nobody holds them they are one run of the free list, taken from its end.
Blocks without content stand at the list's front, so a number is enough for them. Only a prompt's last full block may be
resident more than once: its own prompt computes it whether it is cached or not. It is a segment of one block, and its
copies are rows of their own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairway.core import layout as at
from fairway.core.compiling import inner, int64
from fairway.core.trie import ROOT

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]


@inner
def look_up(segments: Int32Array, requests: Int32Array, path: Int32Array, request: int) -> tuple[int, int, int]:
    """Return a request's hit in blocks, how many of these nobody holds, and how many segments it takes part in."""
    hit_blocks = unheld_blocks = level = 0
    begin = requests[request, at.PATH]
    while level < requests[request, at.SEGMENTS]:
        segment = path[begin + level]
        resident = segments[segment, at.RESIDENT]
        if resident == 0:
            break
        level += 1
        hit_blocks += resident
        if segments[segments[segment, at.OLDEST], at.REFERENCES] == 0:
            unheld_blocks += resident
        if resident < segments[segment, at.BLOCKS]:
            break
    return hit_blocks, unheld_blocks, level


@inner
def touch(
    segments: Int32Array, requests: Int32Array, path: Int32Array, state: Int64Array, request: int, levels: int
) -> None:
    """Hold the resident blocks of the first ``levels`` segments of a request's way."""
    begin = requests[request, at.PATH]
    for index in range(begin, begin + levels):
        held = int64(segments[path[index], at.OLDEST])
        if segments[held, at.REFERENCES] == 0:
            unlink(segments, held)
            state[at.FREE] -= segments[held, at.RESIDENT]
        segments[held, at.REFERENCES] += 1


@inner
def take_blank(state: Int64Array, count: int) -> int:
    """Take up to ``count`` of the free blocks without content; return how many others have to be taken."""
    state[at.FREE] -= count
    blank = min(count, state[at.BLANK])
    state[at.BLANK] -= blank
    return count - blank


@inner
def allocate(segments: Int32Array, changed: Int32Array, state: Int64Array, settings: Int64Array, count: int) -> None:
    """Take ``count`` free blocks, those without content first, and forget the contents of the others."""
    ends = settings[at.LIST_ENDS]
    count = take_blank(state, count)
    while count > 0:
        run = segments[ends, at.BEHIND]
        taken = min(count, segments[run, at.RESIDENT])
        count -= taken
        state[at.EVICTED_BLOCKS] += taken
        segments[run, at.RESIDENT] -= taken
        if segments[run, at.RESIDENT] == 0:
            unlink(segments, run)
        if run >= settings[at.FIRST_COPY]:
            run = drop_copy(segments, state, run)
        note_change(segments, changed, state, settings, run)


@inner
def fill(
    segments: Int32Array,
    requests: Int32Array,
    path: Int32Array,
    changed: Int32Array,
    state: Int64Array,
    settings: Int64Array,
    children: Int32Array,
    request: int,
    level: int,
    computed_tokens: int,
    new_tokens: int,
) -> tuple[int, int]:
    """Register the blocks that a chunk fills, from segment ``level`` of the way on; they are allocated already.

    Returns the level that the next chunk goes on with, and the copy of the last block that the request now holds.
    """
    block_tokens = settings[at.BLOCK_TOKENS]
    full_blocks, filled_blocks = computed_tokens // block_tokens, (computed_tokens + new_tokens) // block_tokens
    begin, levels = requests[request, at.PATH], requests[request, at.SEGMENTS]
    while full_blocks < filled_blocks and level < levels:
        segment = path[begin + level]
        start, end = segments[segment, at.START], segments[segment, at.START] + segments[segment, at.BLOCKS]
        if segments[segment, at.RESIDENT] == 0:
            _count_child(segments, settings, children, segment)
        if segments[segment, at.OLDEST] != segment:
            _new_copy(segments, state, segment)
        elif segments[segment, at.RESIDENT] == 0:
            segments[segment, at.REFERENCES] = 1
        full_blocks = min(filled_blocks, end)
        segments[segment, at.RESIDENT] = full_blocks - start
        note_change(segments, changed, state, settings, segment)
        if full_blocks == end:
            level += 1
    if full_blocks == filled_blocks:
        return level, at.NONE
    segment = requests[request, at.LAST]
    if segments[segment, at.RESIDENT] == 0:
        _count_child(segments, settings, children, segment)
    copy = _new_copy(segments, state, segment)
    segments[segment, at.RESIDENT] = 1
    note_change(segments, changed, state, settings, segment)
    return level, copy


@inner
def release(
    segments: Int32Array,
    requests: Int32Array,
    path: Int32Array,
    state: Int64Array,
    settings: Int64Array,
    request: int,
    copy: int,
) -> None:
    """Give back the blocks of a request that has computed its whole prompt; ``copy`` is that of its last block."""
    if copy == at.NONE:  # the last block is partly filled and has no content that anybody could hit
        state[at.BLANK] += 1
        state[at.FREE] += 1
    else:
        _let_go(segments, state, settings, copy)
    begin = requests[request, at.PATH]
    for index in range(begin + requests[request, at.SEGMENTS] - 1, begin - 1, -1):
        _let_go(segments, state, settings, segments[path[index], at.OLDEST])


@inner
def _count_child(segments: Int32Array, settings: Int64Array, children: Int32Array, segment: int) -> None:
    """Note that a segment's first block is cached now, where an eviction asks what is cached behind others."""
    if settings[at.EVICTION] == at.LEAST_WORTH:
        children[segments[segment, at.PARENT]] += 1


@inner
def _let_go(segments: Int32Array, state: Int64Array, settings: Int64Array, run: int) -> None:
    segments[run, at.REFERENCES] -= 1
    if segments[run, at.REFERENCES] > 0:
        return
    ends = settings[at.LIST_ENDS]
    last = segments[ends, at.BEFORE]
    segments[run, at.BEFORE], segments[run, at.BEHIND] = last, ends
    segments[last, at.BEHIND] = segments[ends, at.BEFORE] = run
    state[at.FREE] += segments[run, at.RESIDENT]


@inner
def unlink(segments: Int32Array, run: int) -> None:
    """Take a run out of the free list."""
    before, behind = segments[run, at.BEFORE], segments[run, at.BEHIND]
    segments[before, at.BEHIND] = behind
    segments[behind, at.BEFORE] = before


@inner
def _new_copy(segments: Int32Array, state: Int64Array, segment: int) -> int:
    """Add a copy, held once, behind the others of ``segment``."""
    copy = state[at.SPARE_COPY]
    state[at.SPARE_COPY] = segments[copy, at.BEHIND]
    segments[copy, at.RESIDENT] = segments[copy, at.REFERENCES] = 1
    segments[copy, at.PARENT] = segment
    segments[copy, at.YOUNGER] = at.NONE
    if segments[segment, at.OLDEST] == ROOT:
        segments[copy, at.ELDER] = at.NONE
        segments[segment, at.OLDEST] = copy
    else:
        elder = segments[segment, at.NEWEST]
        segments[copy, at.ELDER] = elder
        segments[elder, at.YOUNGER] = copy
    segments[segment, at.NEWEST] = copy
    return copy


@inner
def drop_copy(segments: Int32Array, state: Int64Array, copy: int) -> int:
    """Forget a copy; return its segment."""
    segment, elder, younger = segments[copy, at.PARENT], segments[copy, at.ELDER], segments[copy, at.YOUNGER]
    if elder == at.NONE:
        segments[segment, at.OLDEST] = ROOT if younger == at.NONE else younger
    else:
        segments[elder, at.YOUNGER] = younger
    if younger == at.NONE:
        segments[segment, at.NEWEST] = elder
    else:
        segments[younger, at.ELDER] = elder
    segments[segment, at.RESIDENT] = 0 if segments[segment, at.OLDEST] == ROOT else 1
    segments[copy, at.BEHIND] = state[at.SPARE_COPY]
    state[at.SPARE_COPY] = copy
    return segment


@inner
def note_change(
    segments: Int32Array, changed: Int32Array, state: Int64Array, settings: Int64Array, segment: int
) -> None:
    """Put a segment whose resident blocks change on the list for those who wait."""
    if settings[at.TRACKS_HITS] and not segments[segment, at.CHANGED]:
        segments[segment, at.CHANGED] = 1
        changed[state[at.CHANGES]] = segment
        state[at.CHANGES] += 1

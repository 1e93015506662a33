"""The waiting queue: requests in order of arrival, their hits, and their keys under a score.

A request stands at a place of the queue's columns; places are in order of arrival, and one that has been left stays
empty until the queue is drawn together. Waiting requests hang on the first segment of their way that is not wholly
resident, or on a stop behind its last one. So a segment that grows or shrinks moves those alone whose hits change. The
changes of a step are applied together at its end; a segment that came back to what it was moves nobody.

The best key is found by groups of places: each group's highest key is kept, and found anew where a key of it changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fairway.core import layout as at
from fairway.core.blocks import Int32Array, Int64Array
from fairway.core.compiling import inlined, inner, int64
from fairway.core.formula import (
    ARRIVAL_NS,
    CHUNK,
    EXECUTED,
    EXECUTED_BEFORE,
    GONE,
    HEAD_ID,
    HIT_TOKENS,
    HOOKS,
    HOOKS_BEFORE,
    KEY,
    N_TOKENS,
    NOW,
    PASSED,
    PREFILL_NS,
    REMAINING_NS,
    REQUEST_ID,
    run_clocked,
    run_steady,
)
from fairway.core.step_time import StepTimes, prefill_ns
from fairway.core.trie import ROOT

Float64Array = npt.NDArray[np.float64]

GROUP = 64  # places whose highest key is kept


@inlined
def _is_full(segments: Int32Array, segment: int) -> bool:
    return segments[segment, at.RESIDENT] == segments[segment, at.BLOCKS]


# who hangs where


@inner
def _hang(segments: Int32Array, requests: Int32Array, request: int, segment: int) -> None:
    """Hang a request on a segment, and the segment among those with waiters behind its parent."""
    first = segments[segment, at.WAITERS]
    requests[request, at.FRONT] = segment
    requests[request, at.PREVIOUS], requests[request, at.NEXT] = at.NONE, first
    segments[segment, at.WAITERS] = request
    if first != at.NONE:
        requests[first, at.PREVIOUS] = request
        return
    parent = segments[segment, at.PARENT]
    sibling = segments[parent, at.CHILDREN]
    segments[segment, at.ELDER], segments[segment, at.YOUNGER] = at.NONE, sibling
    segments[parent, at.CHILDREN] = segment
    if sibling != at.NONE:
        segments[sibling, at.ELDER] = segment


@inner
def _unhang(segments: Int32Array, requests: Int32Array, request: int) -> None:
    segment, before, behind = requests[request, at.FRONT], requests[request, at.PREVIOUS], requests[request, at.NEXT]
    if behind != at.NONE:
        requests[behind, at.PREVIOUS] = before
    if before != at.NONE:
        requests[before, at.NEXT] = behind
        return
    segments[segment, at.WAITERS] = behind
    if behind != at.NONE:
        return
    elder, younger = segments[segment, at.ELDER], segments[segment, at.YOUNGER]
    if younger != at.NONE:
        segments[younger, at.ELDER] = elder
    if elder != at.NONE:
        segments[elder, at.YOUNGER] = younger
    else:
        segments[segments[segment, at.PARENT], at.CHILDREN] = younger


@inner
def _front(
    segments: Int32Array, requests: Int32Array, path: Int32Array, settings: Int64Array, request: int, level: int
) -> int:
    """Return the first segment of a request's way, from ``level`` on, that is not wholly resident, or its stop."""
    begin, levels = requests[request, at.PATH], requests[request, at.SEGMENTS]
    while level < levels and _is_full(segments, int64(path[begin + level])):
        level += 1
    if level < levels:
        return int64(path[begin + level])
    return settings[at.FIRST_STOP] + (int64(path[begin + levels - 1]) if levels else ROOT)


# columns and keys


class Queue(NamedTuple):
    """The waiting queue's arrays; a place is a column of the first two."""

    columns: Int64Array  # (rows, places) what policies see, the key, and what scores keep; rows are named in `formula`
    reals: Float64Array  # (rows, places) what scores keep as floating-point numbers
    groups: Int64Array  # (2, groups) each group's highest key, and whether it has to be found anew
    program: Int64Array  # how requests are scored, see `formula.Program`; empty where they are not
    ints: Int64Array
    floats: Float64Array


HIGHEST, STALE = range(2)  # rows of `Queue.groups`


@inlined
def _rekey(settings: Int64Array, queue: Queue, place: int) -> None:
    """Find the key of the request at ``place`` anew, as far as the clock does not change it."""
    if len(queue.program):
        steady = settings[at.STEADY]
        run_steady(queue.program, steady, queue.ints, queue.floats, queue.columns, queue.reals, place)
        queue.groups[STALE, place // GROUP] = 1


@inlined
def _set_hit(settings: Int64Array, queue: Queue, times: StepTimes, place: int, hit_blocks: int) -> None:
    """Note a request's hit; where it moved, find anew what depends on it."""
    columns, hit_tokens = queue.columns, hit_blocks * settings[at.BLOCK_TOKENS]
    if columns[HIT_TOKENS, place] == hit_tokens:
        return
    columns[HIT_TOKENS, place] = hit_tokens
    if settings[at.TRACKS_REMAINING]:
        columns[REMAINING_NS, place] = prefill_ns(times, columns[N_TOKENS, place], hit_tokens)
    if not settings[at.FIXES_KEYS]:
        _rekey(settings, queue, place)


@inner
def arrive(
    segments: Int32Array,
    requests: Int32Array,
    path: Int32Array,
    state: Int64Array,
    settings: Int64Array,
    facts: Int64Array,
    queue: Queue,
    times: StepTimes,
    request: int,
) -> None:
    """Put a request at the queue's end. Hits of the others must be up to date."""
    if state[at.WAITING] == 0:
        state[at.OLDEST_PLACE] = state[at.END_PLACE] = 0
    columns, place = queue.columns, state[at.END_PLACE]
    state[at.END_PLACE] += 1
    state[at.WAITING] += 1
    requests[request, at.PLACE] = place
    columns[ARRIVAL_NS, place] = facts[at.ARRIVAL_NS, request]
    columns[N_TOKENS, place] = requests[request, at.TOKENS]
    columns[HIT_TOKENS, place] = 0
    columns[PREFILL_NS, place] = facts[at.PREFILL_NS, request]
    columns[REMAINING_NS, place] = facts[at.PREFILL_NS, request]
    columns[HEAD_ID, place] = facts[at.HEAD_ID, request]
    columns[REQUEST_ID, place] = request
    # The next hook, which sees it first, comes before anything runs.
    columns[HOOKS_BEFORE, place], columns[EXECUTED_BEFORE, place] = state[at.HOOKS_SEEN] + 1, state[at.COMPUTED_TOKENS]
    columns[PASSED, place] = 0
    if settings[at.TRACKS_HITS]:
        front = _front(segments, requests, path, settings, request, int64(0))
        _hang(segments, requests, request, front)
        hit_blocks = segments[front, at.START] + segments[front, at.RESIDENT]
        _set_hit(settings, queue, times, place, hit_blocks)
    _rekey(settings, queue, place)


@inlined
def leave(
    segments: Int32Array, requests: Int32Array, state: Int64Array, settings: Int64Array, queue: Queue, request: int
) -> None:
    """Take a request out of the queue; its place stays empty."""
    place = requests[request, at.PLACE]
    queue.columns[REQUEST_ID, place] = at.NONE
    queue.columns[KEY, place] = GONE
    queue.groups[STALE, place // GROUP] = 1
    state[at.WAITING] -= 1
    if settings[at.TRACKS_HITS]:
        _unhang(segments, requests, request)


@inner
def draw_together(
    requests: Int32Array, state: Int64Array, columns: Int64Array, reals: Float64Array, groups: Int64Array
) -> None:
    """Close the gaps."""
    to = 0
    for place in range(state[at.OLDEST_PLACE], state[at.END_PLACE]):
        request = columns[REQUEST_ID, place]
        if request == at.NONE:
            continue
        if to != place:
            requests[request, at.PLACE] = to
            for row in range(len(columns)):
                columns[row, to] = columns[row, place]
            for row in range(len(reals)):
                reals[row, to] = reals[row, place]
        to += 1
    state[at.OLDEST_PLACE], state[at.END_PLACE] = 0, to
    for group in range(to // GROUP + 1):
        groups[STALE, group] = 1


@inlined
def draw_together_if_gappy(
    requests: Int32Array, state: Int64Array, columns: Int64Array, reals: Float64Array, groups: Int64Array
) -> None:
    """Close the gaps where they are many: a pass over the queue should meet few."""
    gaps = state[at.END_PLACE] - state[at.OLDEST_PLACE] - state[at.WAITING]
    if gaps > GROUP + state[at.WAITING] // 8:
        draw_together(requests, state, columns, reals, groups)


@inlined
def oldest_place(state: Int64Array, queue: Queue) -> int:
    """Return the place of the request that has waited longest."""
    while queue.columns[REQUEST_ID, state[at.OLDEST_PLACE]] == at.NONE:
        state[at.OLDEST_PLACE] += 1
    return state[at.OLDEST_PLACE]


@inner
def score_all(state: Int64Array, settings: Int64Array, queue: Queue) -> None:
    """Find all keys anew at this instant."""
    columns, groups, steady = queue.columns, queue.groups, settings[at.STEADY]
    clocks, end = queue.ints[settings[at.CLOCK_REGISTER] :], state[at.END_PLACE]
    for index in range(min(CHUNK, end)):
        clocks[NOW, index] = state[at.NOW_NS]
        clocks[HOOKS, index] = state[at.HOOKS_SEEN]
        clocks[EXECUTED, index] = state[at.COMPUTED_TOKENS]
    for begin in range(state[at.OLDEST_PLACE] // GROUP * GROUP, end, CHUNK):
        upto = min(begin + CHUNK, end)
        run_clocked(queue.program, steady, queue.ints, queue.floats, columns, queue.reals, begin, upto)
        for first in range(begin, upto, GROUP):
            highest = GONE
            for place in range(first, min(first + GROUP, upto)):
                key = columns[KEY, place] if columns[REQUEST_ID, place] >= 0 else GONE
                columns[KEY, place] = key
                highest = max(highest, key)
            groups[HIGHEST, first // GROUP], groups[STALE, first // GROUP] = highest, 0


@inner
def best_place(state: Int64Array, columns: Int64Array, groups: Int64Array) -> int:
    """Return the place of the highest key, of equal ones the oldest."""
    end = state[at.END_PLACE]
    best, best_group = GONE, at.NONE
    for group in range(state[at.OLDEST_PLACE] // GROUP, (end + GROUP - 1) // GROUP):
        if groups[STALE, group]:
            found = GONE
            for place in range(group * GROUP, min(group * GROUP + GROUP, end)):
                found = max(found, columns[KEY, place])
            groups[HIGHEST, group], groups[STALE, group] = found, 0
        if groups[HIGHEST, group] > best:
            best, best_group = groups[HIGHEST, group], group
    place = best_group * GROUP
    while columns[KEY, place] != best:
        place += 1
    return place


@inner
def best_requests(
    state: Int64Array, settings: Int64Array, queue: Queue, requests: Int64Array, keys: Int64Array, count: int
) -> None:
    """Write the first ``count`` requests by falling key, or by arrival where nothing is scored; ``keys`` is room."""
    columns, groups, place = queue.columns, queue.groups, int64(state[at.OLDEST_PLACE])
    if not settings[at.BY_SCORE]:
        for rank in range(count):
            while columns[REQUEST_ID, place] == at.NONE:
                place += 1
            requests[rank] = columns[REQUEST_ID, place]
            place += 1
        return
    for rank in range(count):
        place = best_place(state, columns, groups)
        requests[rank], keys[rank] = place, columns[KEY, place]
        columns[KEY, place], groups[STALE, place // GROUP] = GONE, 1
    for rank in range(count):
        place = requests[rank]
        requests[rank], columns[KEY, place] = columns[REQUEST_ID, place], keys[rank]
        groups[STALE, place // GROUP] = 1


# hits


@inner
def bring_hits_up_to_date(
    segments: Int32Array,
    requests: Int32Array,
    path: Int32Array,
    changed: Int32Array,
    state: Int64Array,
    settings: Int64Array,
    queue: Queue,
    times: StepTimes,
) -> None:
    """Apply what has become of the cache since the last time to the hits of those who wait."""
    for index in range(state[at.CHANGES]):
        segment = int64(changed[index])
        segments[segment, at.CHANGED] = 0
        before, now = segments[segment, at.SEEN], segments[segment, at.RESIDENT]
        if before == now:
            continue
        segments[segment, at.SEEN] = now
        if before == segments[segment, at.BLOCKS]:
            _draw_back(segments, requests, settings, queue, times, segment)
        else:
            _move_on(segments, requests, path, settings, queue, times, segment)
    state[at.CHANGES] = 0


@inner
def _move_on(
    segments: Int32Array,
    requests: Int32Array,
    path: Int32Array,
    settings: Int64Array,
    queue: Queue,
    times: StepTimes,
    segment: int,
) -> None:
    """Give those who wait at ``segment`` the hit that it now allows, and hang them further on if it is full."""
    is_full = _is_full(segments, segment)
    request = int64(segments[segment, at.WAITERS])
    while request != at.NONE:
        behind = int64(requests[request, at.NEXT])
        front = int64(segment)
        if is_full:
            front = _front(segments, requests, path, settings, request, int64(segments[segment, at.LEVEL] + 1))
            _unhang(segments, requests, request)
            _hang(segments, requests, request, front)
        hit_blocks = segments[front, at.START] + segments[front, at.RESIDENT]
        _set_hit(settings, queue, times, int64(requests[request, at.PLACE]), hit_blocks)
        request = behind


@inner
def _draw_back(
    segments: Int32Array,
    requests: Int32Array,
    settings: Int64Array,
    queue: Queue,
    times: StepTimes,
    segment: int,
) -> None:
    """Hang those who wait behind ``segment``, which is no longer full, on the first one of their way that is not.

    Nothing behind it is resident: a content goes only after what was cached behind it. So whoever waits behind it waits
    right behind it, or their hits are drawn back further by the segment where they wait.
    """
    front, parent = segment, int64(segments[segment, at.PARENT])
    while not _is_full(segments, parent):
        front, parent = parent, int64(segments[parent, at.PARENT])
    hit_blocks = segments[front, at.START] + segments[front, at.RESIDENT]
    child = segments[segment, at.CHILDREN]
    while child != at.NONE:
        younger = segments[child, at.YOUNGER]
        request = int64(segments[child, at.WAITERS])
        while request != at.NONE:
            behind = int64(requests[request, at.NEXT])
            _unhang(segments, requests, request)
            _hang(segments, requests, request, front)
            _set_hit(settings, queue, times, int64(requests[request, at.PLACE]), hit_blocks)
            request = behind
        child = younger

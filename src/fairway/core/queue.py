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
from fairway.core.compiling import inner
from fairway.core.formula import (
    ARRIVAL_NS,
    CHUNK,
    GONE,
    HEAD_ID,
    HIT_TOKENS,
    KEY,
    N_TOKENS,
    PREFILL_NS,
    REMAINING_NS,
    REQUEST_ID,
    run_clocked,
    run_steady,
)
from fairway.core.step_time import StepTimes, prefill_ns
from fairway.core.trie import ROOT

Float64Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

GROUP = 64  # places whose highest key is kept


@inner
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
    while level < levels and _is_full(segments, path[begin + level]):
        level += 1
    if level < levels:
        return path[begin + level]
    return settings[at.FIRST_STOP] + (path[begin + levels - 1] if levels else ROOT)


# columns and keys


class Queue(NamedTuple):
    """The waiting queue's arrays; a place is a column of them."""

    columns: Int64Array  # (rows, places) what policies see, the key, and what scores keep; rows are named in `formula`
    reals: Float64Array  # (rows, places) what scores keep as floating-point numbers
    highest: Int64Array  # (groups,) each group's highest key
    stale: BoolArray  # (groups,) whether it has to be found anew


class Scoring(NamedTuple):
    """A score's program and its registers, see `formula.Program`; empty where nothing is scored."""

    steady: Int64Array
    ints: Int64Array
    floats: Float64Array
    clocked: Int64Array
    clocked_ints: Int64Array
    clocked_floats: Float64Array


@inner
def _rekey(queue: Queue, scoring: Scoring, place: int) -> None:
    """Find the key of the request at ``place`` anew, as far as the clock does not change it."""
    run_steady(scoring.steady, scoring.ints, scoring.floats, queue.columns, queue.reals, place)
    queue.stale[place // GROUP] = True


@inner
def _set_hit(
    settings: Int64Array, queue: Queue, scoring: Scoring, times: StepTimes, place: int, hit_blocks: int
) -> None:
    """Note a request's hit; where it moved, find anew what depends on it."""
    columns, hit_tokens = queue.columns, hit_blocks * settings[at.BLOCK_TOKENS]
    if columns[HIT_TOKENS, place] == hit_tokens:
        return
    columns[HIT_TOKENS, place] = hit_tokens
    if settings[at.TRACKS_REMAINING]:
        columns[REMAINING_NS, place] = prefill_ns(times, columns[N_TOKENS, place], hit_tokens)
    if len(scoring.steady):
        _rekey(queue, scoring, place)


@inner
def arrive(
    segments: Int32Array,
    requests: Int32Array,
    path: Int32Array,
    state: Int64Array,
    settings: Int64Array,
    queue: Queue,
    scoring: Scoring,
    times: StepTimes,
    request: int,
    arrival_ns: int,
    prefill_time_ns: int,
    head_id: int,
) -> None:
    """Put a request at the queue's end. Hits of the others must be up to date."""
    if state[at.WAITING] == 0:
        state[at.OLDEST_PLACE] = state[at.END_PLACE] = 0
    columns, place = queue.columns, state[at.END_PLACE]
    state[at.END_PLACE] += 1
    state[at.WAITING] += 1
    requests[request, at.PLACE] = place
    columns[ARRIVAL_NS, place] = arrival_ns
    columns[N_TOKENS, place] = requests[request, at.TOKENS]
    columns[HIT_TOKENS, place] = 0
    columns[PREFILL_NS, place] = prefill_time_ns
    columns[REMAINING_NS, place] = prefill_time_ns
    columns[HEAD_ID, place] = head_id
    columns[REQUEST_ID, place] = request
    if settings[at.TRACKS_HITS]:
        front = _front(segments, requests, path, settings, request, 0)
        _hang(segments, requests, request, front)
        hit_blocks = segments[front, at.START] + segments[front, at.RESIDENT]
        _set_hit(settings, queue, scoring, times, place, hit_blocks)
    if len(scoring.steady):
        _rekey(queue, scoring, place)


@inner
def leave(
    segments: Int32Array, requests: Int32Array, state: Int64Array, settings: Int64Array, queue: Queue, request: int
) -> None:
    """Take a request out of the queue; its place stays empty."""
    place = requests[request, at.PLACE]
    queue.columns[REQUEST_ID, place] = at.NONE
    queue.columns[KEY, place] = GONE
    queue.stale[place // GROUP] = True
    state[at.WAITING] -= 1
    if settings[at.TRACKS_HITS]:
        _unhang(segments, requests, request)


@inner
def draw_together(requests: Int32Array, state: Int64Array, queue: Queue) -> None:
    """Close the gaps."""
    columns, reals = queue.columns, queue.reals
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
    queue.stale[: to // GROUP + 1] = True


@inner
def draw_together_if_gappy(requests: Int32Array, state: Int64Array, queue: Queue) -> None:
    """Close the gaps where they are many: a pass over the queue should meet few."""
    gaps = state[at.END_PLACE] - state[at.OLDEST_PLACE] - state[at.WAITING]
    if gaps > GROUP + state[at.WAITING] // 8:
        draw_together(requests, state, queue)


@inner
def oldest_place(state: Int64Array, queue: Queue) -> int:
    """Return the place of the request that has waited longest."""
    place = state[at.OLDEST_PLACE]
    while queue.columns[REQUEST_ID, place] == at.NONE:
        place += 1
    state[at.OLDEST_PLACE] = place
    return place


@inner
def score_all(state: Int64Array, settings: Int64Array, queue: Queue, scoring: Scoring) -> None:
    """Find all keys anew at this instant."""
    columns = queue.columns
    scoring.clocked_ints[settings[at.CLOCK_REGISTER], :] = state[at.NOW_NS]
    end = state[at.END_PLACE]
    for begin in range(state[at.OLDEST_PLACE] // GROUP * GROUP, end, CHUNK):
        upto = min(begin + CHUNK, end)
        run_clocked(scoring.clocked, scoring.clocked_ints, scoring.clocked_floats, columns, queue.reals, begin, upto)
        for first in range(begin, upto, GROUP):
            highest = GONE
            for place in range(first, min(first + GROUP, upto)):
                key = columns[KEY, place] if columns[REQUEST_ID, place] >= 0 else GONE
                columns[KEY, place] = key
                highest = max(highest, key)
            queue.highest[first // GROUP] = highest
            queue.stale[first // GROUP] = False


@inner
def best_place(state: Int64Array, queue: Queue) -> int:
    """Return the place of the highest key, of equal ones the oldest."""
    keys, highest, stale = queue.columns[KEY], queue.highest, queue.stale
    end = state[at.END_PLACE]
    best, best_group = GONE, at.NONE
    for group in range(state[at.OLDEST_PLACE] // GROUP, (end + GROUP - 1) // GROUP):
        if stale[group]:
            found = GONE
            for place in range(group * GROUP, min(group * GROUP + GROUP, end)):
                found = max(found, keys[place])
            highest[group] = found
            stale[group] = False
        if highest[group] > best:
            best, best_group = highest[group], group
    place = best_group * GROUP
    while keys[place] != best:
        place += 1
    return place


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
    scoring: Scoring,
    times: StepTimes,
) -> None:
    """Apply what has become of the cache since the last time to the hits of those who wait."""
    for index in range(state[at.CHANGES]):
        segment = changed[index]
        segments[segment, at.CHANGED] = 0
        before, now = segments[segment, at.SEEN], segments[segment, at.RESIDENT]
        if before == now:
            continue
        segments[segment, at.SEEN] = now
        if before == segments[segment, at.BLOCKS]:
            _draw_back(segments, requests, settings, queue, scoring, times, segment)
        else:
            _move_on(segments, requests, path, settings, queue, scoring, times, segment)
    state[at.CHANGES] = 0


@inner
def _move_on(
    segments: Int32Array,
    requests: Int32Array,
    path: Int32Array,
    settings: Int64Array,
    queue: Queue,
    scoring: Scoring,
    times: StepTimes,
    segment: int,
) -> None:
    """Give those who wait at ``segment`` the hit that it now allows, and hang them further on if it is full."""
    is_full = _is_full(segments, segment)
    request = segments[segment, at.WAITERS]
    while request != at.NONE:
        behind = requests[request, at.NEXT]
        front = segment
        if is_full:
            front = _front(segments, requests, path, settings, request, segments[segment, at.LEVEL] + 1)
            _unhang(segments, requests, request)
            _hang(segments, requests, request, front)
        hit_blocks = segments[front, at.START] + segments[front, at.RESIDENT]
        _set_hit(settings, queue, scoring, times, requests[request, at.PLACE], hit_blocks)
        request = behind


@inner
def _draw_back(
    segments: Int32Array,
    requests: Int32Array,
    settings: Int64Array,
    queue: Queue,
    scoring: Scoring,
    times: StepTimes,
    segment: int,
) -> None:
    """Hang those who wait behind ``segment``, which is no longer full, on the first one of their way that is not.

    Nothing behind it is resident: a content goes only after what was cached behind it. So whoever waits behind it waits
    right behind it, or their hits are drawn back further by the segment where they wait.
    """
    front, parent = segment, segments[segment, at.PARENT]
    while not _is_full(segments, parent):
        front, parent = parent, segments[parent, at.PARENT]
    hit_blocks = segments[front, at.START] + segments[front, at.RESIDENT]
    child = segments[segment, at.CHILDREN]
    while child != at.NONE:
        younger = segments[child, at.YOUNGER]
        request = segments[child, at.WAITERS]
        while request != at.NONE:
            behind = requests[request, at.NEXT]
            _unhang(segments, requests, request)
            _hang(segments, requests, request, front)
            _set_hit(settings, queue, scoring, times, requests[request, at.PLACE], hit_blocks)
            request = behind
        child = younger

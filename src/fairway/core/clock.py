"""The clock and the step, compiled: what `fairway.engine.Scheduler` decides under the clock of `fairway.replay`.

It rests on one output token a request. Then a request is done with its last chunk, at most one runs that has not
computed its whole prompt, and since a prompt is admitted only if it fits as a whole, nobody is ever preempted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fairway.core import layout as at
from fairway.core.blocks import Int32Array, Int64Array, fill, look_up, release, touch
from fairway.core.compiling import compiled, inner
from fairway.core.formula import HIT_TOKENS, N_TOKENS, REQUEST_ID
from fairway.core.hooks import HookRows, record_hook
from fairway.core.queue import (
    Queue,
    Scoring,
    arrive,
    best_place,
    bring_hits_up_to_date,
    draw_together_if_gappy,
    leave,
    oldest_place,
    score_all,
)
from fairway.core.step_time import StepTimes, attention_extrapolates, attention_ms, step_ns


class Core(NamedTuple):
    """All arrays of one replay; `layout` says what stands where in those without a comment."""

    segments: Int32Array
    requests: Int32Array
    path: Int32Array  # the ways of all requests, end to end
    changed: Int32Array  # segments whose resident blocks changed in this step
    state: Int64Array
    settings: Int64Array
    measures: npt.NDArray[np.float64]
    arrival_ns: Int64Array  # (requests,)
    prefill_ns: Int64Array  # (requests,) T(n, 0)
    head_ids: Int64Array  # (requests,)
    outcome: Int64Array
    done: Int32Array
    queue: Queue
    scoring: Scoring
    times: StepTimes
    hooks: HookRows


RUNNING, FINISHED, STALLED = range(3)  # what `advance` comes back with


@inner
def take_arrivals(core: Core) -> None:
    """Let everybody wait who has arrived by now; refuse those who can never fit."""
    state, settings, requests = core.state, core.settings, core.requests
    request, now_ns = state[at.ARRIVED], state[at.NOW_NS]
    while request < len(requests) and core.arrival_ns[request] <= now_ns:
        if requests[request, at.TOKENS] > settings[at.USABLE_TOKENS]:
            core.outcome[at.REFUSED, request] = 1
        else:
            arrive(
                core.segments,
                requests,
                core.path,
                state,
                settings,
                core.queue,
                core.scoring,
                core.times,
                request,
                core.arrival_ns[request],
                core.prefill_ns[request],
                core.head_ids[request],
            )
        request += 1
    state[at.ARRIVED] = request


@inner
def _run_chunk(core: Core, request: int, level: int, computed_tokens: int, new_tokens: int) -> None:
    """Compute ``new_tokens`` of a request, the last ones or as many as the budget has."""
    state = core.state
    level, copy = fill(
        core.segments,
        core.requests,
        core.path,
        core.changed,
        state,
        core.settings,
        request,
        level,
        computed_tokens,
        new_tokens,
    )
    context_tokens = computed_tokens + new_tokens
    core.measures[at.ATTENTION_MS] += attention_ms(core.times, new_tokens, context_tokens)
    if attention_extrapolates(core.times, new_tokens, context_tokens):
        state[at.STEP_EXTRAPOLATED] += new_tokens
    state[at.STEP_TOKENS] += new_tokens
    if context_tokens == core.requests[request, at.TOKENS]:
        core.done[at.DONE_REQUEST, state[at.STEP_DONE]], core.done[at.DONE_COPY, state[at.STEP_DONE]] = request, copy
        state[at.STEP_DONE] += 1
        state[at.PARTIAL] = at.NONE
    else:
        state[at.PARTIAL], state[at.PARTIAL_TOKENS], state[at.PARTIAL_LEVEL] = request, context_tokens, level


@inner
def open_step(core: Core) -> None:
    """Begin a step: the partly computed request, if there is one, goes first."""
    state = core.state
    core.measures[at.ATTENTION_MS] = 0.0
    state[at.CALLS] += 1
    state[at.STEP_TOKENS] = state[at.STEP_EXTRAPOLATED] = state[at.STEP_RUNNING] = state[at.STEP_DONE] = 0
    request = state[at.PARTIAL]
    if request != at.NONE:
        state[at.STEP_RUNNING] = 1
        left_tokens = core.requests[request, at.TOKENS] - state[at.PARTIAL_TOKENS]
        new_tokens = min(left_tokens, core.settings[at.BUDGET_TOKENS])
        _run_chunk(core, request, state[at.PARTIAL_LEVEL], state[at.PARTIAL_TOKENS], new_tokens)


@inner
def may_admit(core: Core) -> bool:
    """Whether budget and sequences are left."""
    state, settings = core.state, core.settings
    return state[at.STEP_TOKENS] < settings[at.BUDGET_TOKENS] and state[at.STEP_RUNNING] < settings[at.MAX_NUM_SEQS]


@inner
def admit(core: Core, request: int) -> bool:
    """Start a waiting request, if all its blocks fit; it still stands in the queue."""
    state, settings = core.state, core.settings
    tokens, block_tokens = core.requests[request, at.TOKENS], settings[at.BLOCK_TOKENS]
    hit_blocks, unheld_blocks, levels = look_up(core.segments, core.requests, core.path, request)
    if (tokens + block_tokens - 1) // block_tokens - hit_blocks > state[at.FREE] - unheld_blocks:
        return False
    touch(core.segments, core.requests, core.path, state, request, levels)
    hit_tokens = hit_blocks * block_tokens
    core.outcome[at.START_NS, request], core.outcome[at.HIT, request] = state[at.NOW_NS], hit_tokens
    state[at.STEP_RUNNING] += 1
    state[at.ADMISSIONS] += 1
    new_tokens = min(tokens - hit_tokens, settings[at.BUDGET_TOKENS] - state[at.STEP_TOKENS])
    _run_chunk(core, request, _level_to_fill(core, request, levels), hit_tokens, new_tokens)
    return True


@inner
def _level_to_fill(core: Core, request: int, levels: int) -> int:
    """Return the first level of a request's way that is not wholly resident, its hit having ``levels``."""
    if levels == 0:
        return 0
    last = core.path[core.requests[request, at.PATH] + levels - 1]
    return levels if core.segments[last, at.RESIDENT] == core.segments[last, at.BLOCKS] else levels - 1


@inner
def close_step(core: Core) -> None:
    """End a step: hits of those who wait follow the cache, time passes, and who is done gives back its blocks."""
    state = core.state
    if core.settings[at.TRACKS_HITS]:
        bring_hits_up_to_date(
            core.segments,
            core.requests,
            core.path,
            core.changed,
            state,
            core.settings,
            core.queue,
            core.scoring,
            core.times,
        )
    new_tokens = state[at.STEP_TOKENS]
    if new_tokens == 0:
        return
    duration_ns = step_ns(core.times, new_tokens, core.measures[at.ATTENTION_MS])
    state[at.NOW_NS] += duration_ns
    state[at.BUSY_NS] += duration_ns
    state[at.STEPS] += 1
    state[at.COMPUTED_TOKENS] += new_tokens
    whole_step = core.times.linear_extrapolates[new_tokens]
    state[at.EXTRAPOLATED_TOKENS] += new_tokens if whole_step else state[at.STEP_EXTRAPOLATED]
    for index in range(state[at.STEP_DONE]):
        request = core.done[at.DONE_REQUEST, index]
        core.outcome[at.FIRST_TOKEN_NS, request] = state[at.NOW_NS]
        release(core.segments, core.requests, core.path, state, core.settings, request, core.done[at.DONE_COPY, index])


@inner
def _place_of_best(core: Core) -> int:
    return best_place(core.state, core.queue) if core.settings[at.BY_SCORE] else oldest_place(core.state, core.queue)


@inner
def _work(core: Core, place: int) -> int:
    columns = core.queue.columns
    return max(1, columns[N_TOKENS, place] - columns[HIT_TOKENS, place])


@inner
def _start(core: Core, place: int) -> bool:
    """Admit the request at ``place`` and take it out of the queue, if it fits."""
    request = core.queue.columns[REQUEST_ID, place]
    if not admit(core, request):
        return False
    leave(core.segments, core.requests, core.state, core.settings, core.queue, request)
    return True


@inner
def _walk_one_order(core: Core) -> None:
    while may_admit(core) and core.state[at.WAITING] > 0:
        if not _start(core, _place_of_best(core)):
            return


@inner
def _walk_every_k(core: Core) -> None:
    while may_admit(core) and core.state[at.WAITING] > 0:
        is_turn_of_oldest = (core.state[at.ADMISSIONS] + 1) % core.settings[at.K] == 0
        place = oldest_place(core.state, core.queue) if is_turn_of_oldest else _place_of_best(core)
        if not _start(core, place):
            return


@inner
def _walk_two_lanes(core: Core) -> None:
    """Merge the two lanes as `fairway.policies.TwoLanes` does, as far as requests are admitted."""
    state, settings, weight = core.state, core.settings, core.measures[at.FAST_WEIGHT]
    if not may_admit(core) or state[at.WAITING] == 0:
        return
    fast, fair = _place_of_best(core), oldest_place(state, core.queue)
    fast_ledger, fair_ledger = weight * _work(core, fast), 1.0 * _work(core, fair)
    while True:
        from_fast = fast_ledger <= fair_ledger
        released = fast if from_fast else fair
        work = _work(core, released)
        if not _start(core, released) or not may_admit(core) or state[at.WAITING] == 0:
            return
        was_fair_head = released == fair
        if was_fair_head:
            fair = oldest_place(state, core.queue)
        if released == fast:
            fast = _place_of_best(core)
        if from_fast:
            fast_ledger += weight * (_work(core, fast) if settings[at.CHARGES_NEXT] else work)
            if settings[at.FAIR_RESTARTS] and was_fair_head:
                fair_ledger = 1.0 * _work(core, fair)
        else:
            fair_ledger += _work(core, fair) if settings[at.CHARGES_NEXT] else work


@inner
def _hook_and_walk(core: Core) -> None:
    """The hook, the running request, the waiting ones."""
    state, settings = core.state, core.settings
    if state[at.WAITING] == 0:
        open_step(core)
        return
    draw_together_if_gappy(core.requests, state, core.queue)
    if settings[at.RECORDS]:
        if settings[at.CLOCKED]:
            score_all(state, settings, core.queue, core.scoring)
        record_hook(state, settings, core.measures[at.FAST_WEIGHT], core.queue, core.hooks)
    open_step(core)
    if not may_admit(core):
        return
    if settings[at.CLOCKED] and not settings[at.RECORDS]:
        score_all(state, settings, core.queue, core.scoring)
    if settings[at.RULE] == at.ONE_ORDER:
        _walk_one_order(core)
    elif settings[at.RULE] == at.EVERY_K:
        _walk_every_k(core)
    else:
        _walk_two_lanes(core)


@compiled
def advance(core: Core, most_steps: int) -> int:
    """Run up to ``most_steps`` steps of a policy that is a rule."""
    state = core.state
    for _ in range(most_steps):
        take_arrivals(core)
        while state[at.WAITING] == 0 and state[at.PARTIAL] == at.NONE:
            if state[at.ARRIVED] == len(core.requests):
                return FINISHED
            state[at.NOW_NS] = core.arrival_ns[state[at.ARRIVED]]
            take_arrivals(core)
        _hook_and_walk(core)
        close_step(core)
    return RUNNING

"""The clock and the step, compiled: what `fairway.engine.Scheduler` decides under the clock of `fairway.replay`.

It rests on one output token a request. Then a request is done with its last chunk, at most one runs that has not
computed its whole prompt, and since a prompt is admitted only if it fits as a whole, nobody is ever preempted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fairway.core import layout as at
from fairway.core.blocks import Int32Array, Int64Array, allocate, fill, look_up, release, touch
from fairway.core.compiling import compiled, inlined, int64
from fairway.core.formula import HIT_TOKENS, N_TOKENS, REQUEST_ID
from fairway.core.hooks import record_hook
from fairway.core.orders import (
    bring_list_up_to_date,
    count_groups,
    find_head_end,
    next_by_draws,
    next_by_turns,
    note_passing,
    settle_draw,
)
from fairway.core.queue import (
    Queue,
    arrive,
    best_place,
    best_requests,
    bring_hits_up_to_date,
    draw_together_if_gappy,
    leave,
    oldest_place,
    score_all,
)
from fairway.core.step_time import EXTRAPOLATES, StepTimes, attention_extrapolates, attention_ms, prefill_ns, step_ns
from fairway.core.victims import Worth, allocate_by_priority, allocate_by_rank, spare, use


class Core(NamedTuple):
    """All arrays of one replay; `layout` says what stands where in those without a comment."""

    segments: Int32Array
    requests: Int32Array
    path: Int32Array  # the ways of all requests, end to end
    changed: Int32Array  # segments whose resident blocks changed in this step
    done: Int32Array
    state: Int64Array
    settings: Int64Array
    measures: npt.NDArray[np.float64]
    facts: Int64Array
    queue: Queue
    times: StepTimes
    turns: Int64Array
    listed: Int64Array  # requests of a standing list, in its order
    list_room: Int64Array  # see `orders`
    worth: Worth
    hook_rows: Int64Array  # see `hooks`
    work: Int64Array


@inlined
def go_on(core: Core) -> bool:
    """Go on to the next instant at which somebody waits or runs; whether there is one.

    Everybody who has arrived by then waits, but for those who can never fit: they are refused.
    """
    state, requests, facts = core.state, core.requests, core.facts
    while True:
        while state[at.ARRIVED] < len(requests) and facts[at.ARRIVAL_NS, state[at.ARRIVED]] <= state[at.NOW_NS]:
            request = state[at.ARRIVED]
            state[at.ARRIVED] += 1
            if requests[request, at.TOKENS] > core.settings[at.USABLE_TOKENS]:
                facts[at.REFUSED, request] = 1
            else:
                arrive(core.segments, requests, core.path, state, core.settings, facts, core.queue, core.times, request)
        if state[at.WAITING] > 0 or state[at.PARTIAL] != at.NONE:
            return True
        if state[at.ARRIVED] == len(requests):
            return False
        state[at.NOW_NS] = facts[at.ARRIVAL_NS, state[at.ARRIVED]]


@inlined
def _make_room(core: Core, computed_tokens: int, new_tokens: int) -> None:
    """Allocate the blocks of a chunk."""
    settings, block_tokens = core.settings, core.settings[at.BLOCK_TOKENS]
    held_blocks = (computed_tokens + block_tokens - 1) // block_tokens
    count = (computed_tokens + new_tokens + block_tokens - 1) // block_tokens - held_blocks
    if settings[at.EVICTION] == at.LEAST_RECENT:
        allocate(core.segments, core.changed, core.state, settings, count)
    elif settings[at.EVICTION] == at.UNSPARED:
        allocate_by_rank(core.segments, core.changed, core.state, settings, core.worth, count)
    else:
        allocate_by_priority(core.segments, core.changed, core.state, settings, core.measures, core.worth, count)


@inlined
def _run_chunk(core: Core, request: int, level: int, computed_tokens: int, new_tokens: int) -> None:
    """Compute ``new_tokens`` of a request, the last ones or as many as the budget has."""
    state = core.state
    _make_room(core, computed_tokens, new_tokens)
    level, copy = fill(
        core.segments,
        core.requests,
        core.path,
        core.changed,
        state,
        core.settings,
        core.worth.children,
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
        done = state[at.STEP_DONE]
        state[at.STEP_DONE] += 1
        core.done[at.DONE_REQUEST, done], core.done[at.DONE_COPY, done] = request, copy
        state[at.PARTIAL] = at.NONE
    else:
        state[at.PARTIAL], state[at.PARTIAL_TOKENS], state[at.PARTIAL_LEVEL] = request, context_tokens, level


@inlined
def open_step(core: Core) -> None:
    """Begin a step: the partly computed request, if there is one, goes first."""
    state = core.state
    core.measures[at.ATTENTION_MS] = 0.0
    state[at.CALLS] += 1
    state[at.STEP_TOKENS] = 0
    state[at.STEP_EXTRAPOLATED] = 0
    state[at.STEP_RUNNING] = 0
    state[at.STEP_DONE] = 0
    request = state[at.PARTIAL]
    if request != at.NONE:
        state[at.STEP_RUNNING] = 1
        left_tokens = core.requests[request, at.TOKENS] - state[at.PARTIAL_TOKENS]
        new_tokens = min(left_tokens, core.settings[at.BUDGET_TOKENS])
        _run_chunk(core, request, state[at.PARTIAL_LEVEL], state[at.PARTIAL_TOKENS], new_tokens)


@inlined
def may_admit(state: Int64Array, settings: Int64Array) -> bool:
    """Whether budget and sequences are left."""
    return state[at.STEP_TOKENS] < settings[at.BUDGET_TOKENS] and state[at.STEP_RUNNING] < settings[at.MAX_NUM_SEQS]


@inlined
def admit(core: Core, request: int) -> bool:
    """Start a waiting request, if all its blocks fit; it still stands in the queue."""
    state, settings, segments, path = core.state, core.settings, core.segments, core.path
    tokens, block_tokens = core.requests[request, at.TOKENS], settings[at.BLOCK_TOKENS]
    hit_blocks, unheld_blocks, levels = look_up(segments, core.requests, path, request)
    if (tokens + block_tokens - 1) // block_tokens - hit_blocks > state[at.FREE] - unheld_blocks:
        return False
    level = levels
    if levels > 0:
        last = path[core.requests[request, at.PATH] + levels - 1]
        if segments[last, at.RESIDENT] < segments[last, at.BLOCKS]:
            level -= 1  # its hit ends within that segment, which is filled first
    touch(segments, core.requests, path, state, request, levels)
    hit_tokens = hit_blocks * block_tokens
    core.facts[at.START_NS, request], core.facts[at.HIT, request] = state[at.NOW_NS], hit_tokens
    state[at.STEP_RUNNING] += 1
    state[at.ADMISSIONS] += 1
    if settings[at.EVICTION] == at.LEAST_WORTH:
        cost_ns = prefill_ns(core.times, tokens, hit_tokens) / (tokens - hit_tokens)
        use(segments, core.requests, path, core.measures, core.worth, request, hit_blocks, cost_ns)
    new_tokens = min(tokens - hit_tokens, settings[at.BUDGET_TOKENS] - state[at.STEP_TOKENS])
    _run_chunk(core, request, level, hit_tokens, new_tokens)
    return True


@inlined
def close_step(core: Core) -> None:
    """End a step: hits of those who wait follow the cache, time passes, and who is done gives back its blocks."""
    state, settings, facts = core.state, core.settings, core.facts
    if settings[at.TRACKS_HITS]:
        bring_hits_up_to_date(
            core.segments, core.requests, core.path, core.changed, state, settings, core.queue, core.times
        )
    new_tokens = state[at.STEP_TOKENS]
    if new_tokens > 0:
        duration_ns = step_ns(core.times, new_tokens, core.measures[at.ATTENTION_MS])
        state[at.NOW_NS] += duration_ns
        state[at.BUSY_NS] += duration_ns
        state[at.STEPS] += 1
        state[at.COMPUTED_TOKENS] += new_tokens
        is_measured = core.times.linear[EXTRAPOLATES, new_tokens] == 0.0
        state[at.EXTRAPOLATED_TOKENS] += state[at.STEP_EXTRAPOLATED] if is_measured else new_tokens
    for index in range(state[at.STEP_DONE]):
        request = int64(core.done[at.DONE_REQUEST, index])
        facts[at.FIRST_TOKEN_NS, request] = state[at.NOW_NS]
        copy = int64(core.done[at.DONE_COPY, index])
        release(core.segments, core.requests, core.path, state, settings, request, copy)


@inlined
def _best(state: Int64Array, settings: Int64Array, queue: Queue) -> int:
    """Return the place of whoever the score puts first; without a score, of the oldest."""
    return best_place(state, queue.columns, queue.groups) if settings[at.BY_SCORE] else oldest_place(state, queue)


@inlined
def _work(queue: Queue, place: int) -> int:
    """Return what a request counts for in a ledger."""
    return max(1, queue.columns[N_TOKENS, place] - queue.columns[HIT_TOKENS, place])


@inlined
def _next(core: Core) -> int:
    """Return the place of whoever comes next under a rule that is not two lanes; NONE if its order ends."""
    state, settings, queue = core.state, core.settings, core.queue
    if settings[at.RULE] == at.EVERY_K:
        is_turn_of_oldest = (state[at.ADMISSIONS] + 1) % settings[at.K] == 0
        return oldest_place(state, queue) if is_turn_of_oldest else _best(state, settings, queue)
    if settings[at.RULE] == at.HEAD_GROUP:
        oldest = oldest_place(state, queue)
        return oldest if oldest < state[at.HEAD_END] else _best(state, settings, queue)
    if settings[at.RULE] == at.TURNS:
        return next_by_turns(state, queue.columns, core.turns)
    if settings[at.RULE] == at.DRAWS:
        return next_by_draws(state, queue.columns, core.turns)
    if settings[at.RULE] == at.STANDING_LIST:
        return int64(core.requests[core.listed[state[at.LIST_NEXT]], at.PLACE])
    return _best(state, settings, queue)


@inlined
def _remember_hook(core: Core) -> None:
    """Let the rule's memory see who waits."""
    state, settings, columns = core.state, core.settings, core.queue.columns
    state[at.HOOKS_SEEN] += 1
    if settings[at.RULE] == at.HEAD_GROUP:
        find_head_end(state, settings, columns)
    elif settings[at.RULE] == at.TURNS or settings[at.RULE] == at.DRAWS:
        count_groups(state, settings, columns, core.turns)
    elif settings[at.RULE] == at.STANDING_LIST:
        bring_list_up_to_date(state, settings, core.requests, core.facts, columns, core.listed, core.list_room)


@inlined
def _remember_admission(core: Core, place: int) -> None:
    """Let the rule's memory see that the request at ``place`` was admitted."""
    state, settings = core.state, core.settings
    if settings[at.RULE] == at.HEAD_GROUP:
        note_passing(state, core.queue.columns, place)
    elif settings[at.RULE] == at.TURNS:
        state[at.POINTER] = state[at.NEXT_POINTER]
    elif settings[at.RULE] == at.DRAWS:
        settle_draw(state, core.turns)
    elif settings[at.RULE] == at.STANDING_LIST:
        state[at.LIST_NEXT] += 1


@inlined
def _walk(core: Core) -> None:
    """Admit waiting requests in the rule's order until the budget, the sequences or the room end.

    The rules are those of `fairway.policies`, as far as they are needed: who is admitted has left the queue, so the
    best and the oldest are always of those that nobody has taken.
    """
    state, settings, queue = core.state, core.settings, core.queue
    place = fast = fair = int64(at.NONE)
    fast_ledger = fair_ledger = 0.0
    from_fast, work = False, int64(0)
    while may_admit(state, settings) and state[at.WAITING] > 0:
        if settings[at.RULE] != at.TWO_LANES:
            place = _next(core)
            if place == at.NONE:
                return
        else:
            weight, was_fair_head = core.measures[at.FAST_WEIGHT], place == fair
            if was_fair_head:  # so they are at the beginning, too
                fair = oldest_place(state, queue)
            if place == fast:
                fast = _best(state, settings, queue)
            if place == at.NONE:
                fast_ledger, fair_ledger = weight * _work(queue, fast), 1.0 * _work(queue, fair)
            elif from_fast:
                fast_ledger += weight * (_work(queue, fast) if settings[at.CHARGES_NEXT] else work)
                if was_fair_head and settings[at.FAIR_RESTARTS]:
                    fair_ledger = 1.0 * _work(queue, fair)
            else:
                fair_ledger += _work(queue, fair) if settings[at.CHARGES_NEXT] else work
            from_fast = fast_ledger <= fair_ledger
            place = fast if from_fast else fair
        work = _work(queue, place)
        request = queue.columns[REQUEST_ID, place]
        if not admit(core, request):
            return
        leave(core.segments, core.requests, state, settings, queue, request)
        _remember_admission(core, place)


@inlined
def may_evict(core: Core) -> bool:
    """Whether the blocks without content may not suffice for the step that begins."""
    settings = core.settings
    sequences = min(settings[at.BUDGET_TOKENS], settings[at.MAX_NUM_SEQS] + 1)
    return core.state[at.BLANK] < settings[at.BUDGET_TOKENS] // settings[at.BLOCK_TOKENS] + sequences


@inlined
def _spare(core: Core) -> None:
    """Spare the hits of the first of the order."""
    state, settings, worth = core.state, core.settings, core.worth
    count = min(settings[at.SPARED], state[at.WAITING])
    best_requests(state, settings, core.queue, worth.wanters, worth.keys, count)
    spare(core.segments, core.requests, core.path, state, worth, count)


@inlined
def _open_hook(core: Core) -> bool:
    """Do what comes before a step that finds requests waiting; whether all of them were scored."""
    state, settings, queue = core.state, core.settings, core.queue
    draw_together_if_gappy(core.requests, state, queue.columns, queue.reals, queue.groups)
    _remember_hook(core)
    spares = settings[at.SPARED] > 0 and settings[at.TRACKS_HITS] and may_evict(core)
    is_scored = settings[at.CLOCKED] and (settings[at.RECORDS] or spares)
    if is_scored:
        score_all(state, settings, queue)
    if settings[at.RECORDS]:
        record_hook(
            state,
            settings,
            core.measures[at.FAST_WEIGHT],
            queue.columns,
            core.turns,
            core.listed,
            core.hook_rows,
            core.work,
        )
    if spares:
        _spare(core)
    return is_scored


@compiled
def advance(core: Core, most_steps: int) -> bool:
    """Run up to ``most_steps`` steps of a policy that is a rule; whether anything is left to run."""
    state, settings = core.state, core.settings
    for _ in range(most_steps):
        if not go_on(core):
            return False
        is_scored = state[at.WAITING] > 0 and _open_hook(core)
        open_step(core)
        if settings[at.CLOCKED] and not is_scored and state[at.WAITING] > 0 and may_admit(state, settings):
            score_all(state, settings, core.queue)
        _walk(core)
        close_step(core)
    return True

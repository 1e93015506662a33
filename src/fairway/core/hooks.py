"""Hook rows, compiled: those that `fairway.hooks.HookRecorder` makes of a view and an order."""

from __future__ import annotations

from fairway.core import layout as at
from fairway.core.blocks import Int64Array
from fairway.core.compiling import inner
from fairway.core.formula import HIT_TOKENS, KEY, N_TOKENS, REQUEST_ID
from fairway.core.orders import sort_falling
from fairway.hooks import FEWEST_TO_CORRELATE, UNRANKED

# Columns of a row, those of `fairway.hooks.Hooks`.
STEP, HOOK_NS, QUEUE_LENGTH, LEAST, P5, P50, P95, MOST, ARRIVAL_SQUARES, LPM_SQUARES = range(10)
HOOK_FIELDS = 10


# Rows of the room to work in, over the places of the queue.
UNCACHED, HITS, KEYS, BEST_FIRST, ORDER, BY_HIT, SPARE, RANK, TAKEN = range(9)
WORK_ROWS = 9


@inner
def _gather(state: Int64Array, columns: Int64Array, work: Int64Array, by_score: bool) -> None:
    """Take what the row is made of, of those who wait, in order of arrival."""
    count = 0
    for place in range(state[at.OLDEST_PLACE], state[at.END_PLACE]):
        if columns[REQUEST_ID, place] >= 0:
            work[UNCACHED, count] = columns[N_TOKENS, place] - columns[HIT_TOKENS, place]
            work[HITS, count] = columns[HIT_TOKENS, place]
            work[KEYS, count] = columns[KEY, place] if by_score else 0
            count += 1


@inner
def _squares(rank: Int64Array, order: Int64Array, by_hit: Int64Array) -> tuple[int, int]:
    """Return the sums of squared differences between each request's place in the order and by arrival and by hit."""
    by_arrival_squares = by_hit_squares = 0
    for place in range(len(by_hit)):
        rank[by_hit[place]] = place
    for place in range(len(order)):
        by_arrival_squares += (order[place] - place) ** 2
        by_hit_squares += (rank[order[place]] - place) ** 2
    return by_arrival_squares, by_hit_squares


@inner
def _order_every_k(k: int, admissions: int, best_first: Int64Array, order: Int64Array, taken: Int64Array) -> None:
    """Write the order of `fairway.policies.EveryK`."""
    count = len(best_first)
    for position in range(count):
        taken[position] = 0
    best = oldest = 0
    for position in range(count):
        while taken[best_first[best]]:
            best += 1
        while taken[oldest]:
            oldest += 1
        chosen = oldest if (admissions + position + 1) % k == 0 else best_first[best]
        taken[chosen] = 1
        order[position] = chosen


@inner
def _order_two_lanes(
    settings: Int64Array,
    fast_weight: float,
    best_first: Int64Array,
    uncached: Int64Array,
    order: Int64Array,
    taken: Int64Array,
) -> None:
    """Write the order of `fairway.policies.TwoLanes`."""
    count = len(best_first)
    for position in range(count):
        taken[position] = 0
    fast = fair = 0
    fast_ledger = fast_weight * max(1, uncached[best_first[0]])
    fair_ledger = 1.0 * max(1, uncached[0])
    for position in range(count):
        from_fast = fast_ledger <= fair_ledger
        released = best_first[fast] if from_fast else fair
        order[position] = released
        taken[released] = 1
        if position == count - 1:
            return
        restarts = released == fair
        while taken[best_first[fast]]:
            fast += 1
        while taken[fair]:
            fair += 1
        if from_fast:
            charged = best_first[fast] if settings[at.CHARGES_NEXT] else released
            fast_ledger += fast_weight * max(1, uncached[charged])
            if settings[at.FAIR_RESTARTS] and restarts:
                fair_ledger = 1.0 * max(1, uncached[fair])
        else:
            fair_ledger += max(1, uncached[fair if settings[at.CHARGES_NEXT] else released])


@inner
def _order_head_group(state: Int64Array, columns: Int64Array, best_first: Int64Array, order: Int64Array) -> None:
    """Write the order of `fairway.policies.HeadGroup`."""
    heads = 0
    for place in range(state[at.OLDEST_PLACE], state[at.HEAD_END]):
        if columns[REQUEST_ID, place] >= 0:
            order[heads] = heads
            heads += 1
    count = heads
    for position in best_first:
        if position >= heads:
            order[count] = position
            count += 1


@inner
def _order_turns(
    state: Int64Array, settings: Int64Array, turns: Int64Array, groups: Int64Array, order: Int64Array
) -> bool:
    """Write the order of `fairway.policies.Turns`; whether it has everybody."""
    count, number = 0, turns.shape[1]
    for turn in range(2 * number):
        group, taken = (state[at.POINTER] - turn) % number, 0
        share = settings[at.SHARE] * (group + 1)
        if turns[at.MEMBERS_LEFT, group] == 0:
            continue
        for position in range(len(groups)):
            if groups[position] == group:
                if (taken < share) == (turn < number):
                    order[count] = position
                    count += 1
                taken += 1
    return count == len(groups)


@inner
def _order_draws(turns: Int64Array, groups: Int64Array, order: Int64Array) -> None:
    """Write the order of `fairway.policies.Draws`."""
    for group in range(turns.shape[1]):
        turns[at.LEFT_TO_RECORD, group] = turns[at.MEMBERS_LEFT, group]
        turns[at.CREDITS_RECORDED, group] = turns[at.CREDITS, group]
        turns[at.CURSOR_OF_RECORD, group] = 0
    left, credit, cursor = turns[at.LEFT_TO_RECORD], turns[at.CREDITS_RECORDED], turns[at.CURSOR_OF_RECORD]
    for position in range(len(groups)):
        pool, richest = 0, -1
        for group in range(len(left)):
            if left[group] > 0:
                credit[group] += group + 1
                pool += group + 1
                if richest < 0 or credit[group] >= credit[richest]:
                    richest = group
        credit[richest] -= pool
        while groups[cursor[richest]] != richest:
            cursor[richest] += 1
        order[position] = cursor[richest]
        cursor[richest] += 1
        left[richest] -= 1


@inner
def _order_list(
    columns: Int64Array, state: Int64Array, listed: Int64Array, position_of: Int64Array, order: Int64Array
) -> None:
    """Write the order of `fairway.policies.StandingList`, as it stands."""
    count = 0
    for place in range(state[at.OLDEST_PLACE], state[at.END_PLACE]):
        if columns[REQUEST_ID, place] >= 0:
            position_of[columns[REQUEST_ID, place]] = count
            count += 1
    for index in range(count):
        order[index] = position_of[listed[index]]


@inner
def record_hook(
    state: Int64Array,
    settings: Int64Array,
    fast_weight: float,
    columns: Int64Array,
    turns: Int64Array,
    listed: Int64Array,
    rows: Int64Array,
    work: Int64Array,
) -> None:
    """Write one hook with requests waiting into ``rows``. Keys must be those of this instant."""
    count = state[at.WAITING]
    _gather(state, columns, work, settings[at.BY_SCORE] != 0)
    row, uncached, spare = rows[state[at.HOOKS]], work[UNCACHED, :count], work[SPARE, :count]
    state[at.HOOKS] += 1
    row[STEP], row[HOOK_NS], row[QUEUE_LENGTH] = state[at.CALLS], state[at.NOW_NS], count
    row[ARRIVAL_SQUARES], row[LPM_SQUARES] = UNRANKED, UNRANKED
    if count >= FEWEST_TO_CORRELATE:
        best_first, by_hit, order = work[BEST_FIRST, :count], work[BY_HIT, :count], work[ORDER, :count]
        sort_falling(work[KEYS, :count], best_first, spare)
        sort_falling(work[HITS, :count], by_hit, spare)
        has_all = True
        if settings[at.RULE] == at.EVERY_K:
            _order_every_k(settings[at.K], state[at.ADMISSIONS], best_first, order, work[TAKEN])
        elif settings[at.RULE] == at.TWO_LANES:
            _order_two_lanes(settings, fast_weight, best_first, uncached, order, work[TAKEN])
        elif settings[at.RULE] == at.HEAD_GROUP:
            _order_head_group(state, columns, best_first, order)
        elif settings[at.RULE] == at.TURNS:
            has_all = _order_turns(state, settings, turns, work[KEYS, :count], order)
        elif settings[at.RULE] == at.DRAWS:
            _order_draws(turns, work[KEYS, :count], order)
        elif settings[at.RULE] == at.STANDING_LIST:
            _order_list(columns, state, listed, work[RANK], order)
        else:
            order = best_first
        if has_all:
            row[ARRIVAL_SQUARES], row[LPM_SQUARES] = _squares(work[RANK], order, by_hit)
    falling = work[ORDER, :count]
    sort_falling(uncached, falling, spare)
    row[LEAST], row[MOST] = uncached[falling[count - 1]], uncached[falling[0]]
    row[P5] = uncached[falling[count - max(1, (count * 5 + 99) // 100)]]
    row[P50] = uncached[falling[count - max(1, (count * 50 + 99) // 100)]]
    row[P95] = uncached[falling[count - max(1, (count * 95 + 99) // 100)]]

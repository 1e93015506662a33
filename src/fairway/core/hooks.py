"""Hook rows, compiled: those that `fairway.hooks.HookRecorder` makes of a view and an order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairway.core import layout as at
from fairway.core.blocks import Int64Array
from fairway.core.compiling import inner
from fairway.core.formula import HIT_TOKENS, KEY, N_TOKENS, REQUEST_ID
from fairway.core.queue import Queue
from fairway.hooks import FEWEST_TO_CORRELATE, UNRANKED

# Columns of a row, those of `fairway.hooks.Hooks`.
STEP, HOOK_NS, QUEUE_LENGTH, LEAST, P5, P50, P95, MOST, ARRIVAL_SQUARES, LPM_SQUARES = range(10)
HOOK_FIELDS = 10


class HookRows(NamedTuple):
    """Rows of hooks and room to work in."""

    rows: Int64Array  # (hooks, HOOK_FIELDS)
    uncached: Int64Array  # (places,) and so are the others
    hits: Int64Array
    keys: Int64Array
    order: Int64Array
    rank: Int64Array


@inner
def _gather(state: Int64Array, queue: Queue, hooks: HookRows) -> None:
    """Take what the row is made of, of those who wait, in order of arrival."""
    columns, count = queue.columns, 0
    for place in range(state[at.OLDEST_PLACE], state[at.END_PLACE]):
        if columns[REQUEST_ID, place] >= 0:
            hooks.uncached[count] = columns[N_TOKENS, place] - columns[HIT_TOKENS, place]
            hooks.hits[count] = columns[HIT_TOKENS, place]
            hooks.keys[count] = columns[KEY, place]
            count += 1


@inner
def _falling(values: Int64Array) -> Int64Array:
    """Return positions by falling value, equal values by rising position."""
    return np.argsort(~values, kind="mergesort")


@inner
def _squares(hooks: HookRows, by_policy: Int64Array, by_other: Int64Array) -> int:
    """Return the sum of squared differences between the places of each request in two orders."""
    rank, total = hooks.rank, 0
    for place in range(len(by_other)):
        rank[by_other[place]] = place
    for place in range(len(by_policy)):
        total += (rank[by_policy[place]] - place) ** 2
    return total


@inner
def _order_every_k(settings: Int64Array, best_first: Int64Array, order: Int64Array, admissions: int) -> None:
    count, k = len(best_first), settings[at.K]
    taken = np.zeros(count, np.bool_)
    best = oldest = 0
    for position in range(count):
        while taken[best_first[best]]:
            best += 1
        while taken[oldest]:
            oldest += 1
        chosen = oldest if (admissions + position + 1) % k == 0 else best_first[best]
        taken[chosen] = True
        order[position] = chosen


@inner
def _order_two_lanes(
    settings: Int64Array, fast_weight: float, best_first: Int64Array, uncached: Int64Array, order: Int64Array
) -> None:
    count = len(best_first)
    taken = np.zeros(count + 1, np.bool_)
    fast = fair = 0
    fast_ledger = fast_weight * max(1, uncached[best_first[0]])
    fair_ledger = 1.0 * max(1, uncached[0])
    for position in range(count):
        from_fast = fast_ledger <= fair_ledger
        released = best_first[fast] if from_fast else fair
        order[position] = released
        taken[released] = True
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
def record_hook(state: Int64Array, settings: Int64Array, fast_weight: float, queue: Queue, hooks: HookRows) -> None:
    """Note one hook with requests waiting. Keys must be those of this instant."""
    count = state[at.WAITING]
    _gather(state, queue, hooks)
    row = hooks.rows[state[at.HOOKS]]
    state[at.HOOKS] += 1
    row[STEP], row[HOOK_NS], row[QUEUE_LENGTH] = state[at.CALLS], state[at.NOW_NS], count
    uncached = hooks.uncached[:count]
    row[ARRIVAL_SQUARES] = row[LPM_SQUARES] = UNRANKED
    if count >= FEWEST_TO_CORRELATE:
        by_arrival = np.arange(count)
        by_hit = _falling(hooks.hits[:count])
        best_first = _falling(hooks.keys[:count]) if settings[at.BY_SCORE] else by_arrival
        order = hooks.order[:count]
        if settings[at.RULE] == at.ONE_ORDER:
            order[:] = best_first
        elif settings[at.RULE] == at.EVERY_K:
            _order_every_k(settings, best_first, order, state[at.ADMISSIONS])
        else:
            _order_two_lanes(settings, fast_weight, best_first, uncached, order)
        row[ARRIVAL_SQUARES] = _squares(hooks, order, by_arrival)
        row[LPM_SQUARES] = _squares(hooks, order, by_hit)
    uncached.sort()
    row[LEAST], row[MOST] = uncached[0], uncached[-1]
    row[P5] = uncached[max(1, (count * 5 + 99) // 100) - 1]
    row[P50] = uncached[max(1, (count * 50 + 99) // 100) - 1]
    row[P95] = uncached[max(1, (count * 95 + 99) // 100) - 1]

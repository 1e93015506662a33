"""Step times as arrays, and their compiled arithmetic: the numbers of `Profile.step_ns`, bit for bit.

The linear part depends on a step's tokens alone, of which there are no more than the budget: it is a table, made by the
profile itself. The attention part is computed for each chunk.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fairway.core.compiling import compiled, inlined, inner, int64
from fairway.profile import Profile
from fairway.profile.step_time import NS_PER_MS, between, long_context_ms

Float64Array = npt.NDArray[np.float64]
Int64Array = npt.NDArray[np.int64]

MS, EXTRAPOLATES = range(2)  # rows of `StepTimes.linear`
# Places in `StepTimes.attention`.
(
    FLOOR_MS,
    CONSTANT_MS,
    PER_CONTEXT_MS,
    ABOVE_PRODUCT,
    LONG_PER_NEW_MS,
    LONG_PER_CONTEXT_MS,
    LONG_PER_PRODUCT_MS,
    EFFICIENCY,
) = range(8)

_long_context_ms = inner(long_context_ms)
_between = inner(between)


class StepTimes(NamedTuple):
    """A profile for steps of up to a budget of tokens, as compiled functions take it."""

    linear: Float64Array  # (2, budget + 1) the linear part of a step's new tokens, and 1 where it is extrapolated
    attention: Float64Array  # (8,) the fit's constants and the efficiency
    table_new: Int64Array  # (rows,) the measured grid, empty where there is none
    table_prefix: Int64Array  # (columns,)
    table_ms: Float64Array  # (rows, columns)


@lru_cache(maxsize=4)
def step_times(profile: Profile, budget_tokens: int) -> StepTimes:
    """Return a profile's numbers for steps of up to ``budget_tokens``."""
    fit, table = profile.attention.fit, profile.attention.table
    long = fit.long
    long_part = (
        (float("inf"), 0.0, 0.0, 0.0)
        if long is None
        else (float(long.above_product), long.per_new_token_ms, long.per_context_token_ms, long.per_product_ms)
    )
    short_part = (fit.floor_ms, fit.constant_ms, fit.per_context_token_ms)
    tokens = range(budget_tokens + 1)
    return StepTimes(
        linear=np.array([[part(new) for new in tokens] for part in (profile.linear.ms, profile.linear.extrapolates)]),
        attention=np.array([*short_part, *long_part, profile.efficiency]),
        table_new=np.array(table.new_tokens if table else (), dtype=np.int64),
        table_prefix=np.array(table.prefix_tokens if table else (), dtype=np.int64),
        table_ms=np.array(table.ms_at, dtype=np.float64) if table else np.empty((0, 0)),
    )


@inner
def _fit_ms(fit: Float64Array, new_tokens: int, context_tokens: int) -> float:
    short_ms = max(fit[FLOOR_MS], fit[PER_CONTEXT_MS] * context_tokens + fit[CONSTANT_MS])
    return short_ms + _long_context_ms(
        new_tokens,
        context_tokens,
        fit[ABOVE_PRODUCT],
        fit[LONG_PER_NEW_MS],
        fit[LONG_PER_CONTEXT_MS],
        fit[LONG_PER_PRODUCT_MS],
    )


@inner
def _row_and_share(axis: Int64Array, value: int) -> tuple[int, float]:
    """Return the axis point at or below ``value`` and the share of the way to the next one."""
    low = -1
    while low + 1 < len(axis) and axis[low + 1] <= value:
        low += 1
    if low >= len(axis) - 1:
        return len(axis) - 1, 0.0
    return low, (value - axis[low]) / (axis[low + 1] - axis[low])


@inner
def _table_ms(times: StepTimes, new_tokens: int, prefix_tokens: int) -> float:
    ms = times.table_ms
    row, row_share = _row_and_share(times.table_new, new_tokens)
    column, column_share = _row_and_share(times.table_prefix, prefix_tokens)
    next_row, next_column = min(row + 1, ms.shape[0] - 1), min(column + 1, ms.shape[1] - 1)
    low = _between(ms[row, column], ms[row, next_column], column_share)
    high = _between(ms[next_row, column], ms[next_row, next_column], column_share)
    return _between(low, high, row_share)


@inner
def attention_ms(times: StepTimes, new_tokens: int, context_tokens: int) -> float:
    """Return `Attention.ms` of one chunk."""
    news, prefixes = times.table_new, times.table_prefix
    if len(news) == 0:
        return _fit_ms(times.attention, new_tokens, context_tokens)
    prefix_tokens = context_tokens - new_tokens
    near_new = min(max(new_tokens, news[0]), news[-1])
    near_prefix = min(max(prefix_tokens, prefixes[0]), prefixes[-1])
    measured_ms = _table_ms(times, near_new, near_prefix)
    if near_new == new_tokens and near_prefix == prefix_tokens:
        return measured_ms
    fit_ms = _fit_ms(times.attention, new_tokens, context_tokens)
    growth_ms = fit_ms - _fit_ms(times.attention, near_new, near_new + near_prefix)
    return max(0.0, measured_ms + growth_ms)


@inner
def attention_extrapolates(times: StepTimes, new_tokens: int, context_tokens: int) -> bool:
    """Return `Attention.extrapolates` of one chunk."""
    news, prefixes = times.table_new, times.table_prefix
    if len(news) == 0:
        return False
    prefix_tokens = context_tokens - new_tokens
    return not (news[0] <= new_tokens <= news[-1] and prefixes[0] <= prefix_tokens <= prefixes[-1])


@inlined
def step_ns(times: StepTimes, new_tokens: int, attention_sum_ms: float) -> int:
    """Return `Profile.step_ns` of a step of at least one token, its chunks' attention summed in their order."""
    ms = (times.linear[MS, new_tokens] + attention_sum_ms) / times.attention[EFFICIENCY] * NS_PER_MS
    return int64(np.rint(ms))


@inner
def prefill_ns(times: StepTimes, n_tokens: int, hit_tokens: int) -> int:
    """Return `Profile.prefill_ns`: ``T(n, h)`` in chunks of the budget that ``times`` was made for."""
    budget_tokens = times.linear.shape[1] - 1
    total_ns, context_tokens = 0, hit_tokens
    while context_tokens < n_tokens:
        new_tokens = min(budget_tokens, n_tokens - context_tokens)
        context_tokens += new_tokens
        total_ns += step_ns(times, new_tokens, attention_ms(times, new_tokens, context_tokens))
    return total_ns


@partial(compiled, makes_arrays=True)
def prefill_ns_of_each(times: StepTimes, n_tokens: Int64Array) -> Int64Array:
    """Return ``T(n, 0)`` of each length."""
    times_ns = np.empty(len(n_tokens), np.int64)
    for index in range(len(n_tokens)):
        times_ns[index] = prefill_ns(times, n_tokens[index], int64(0))
    return times_ns

"""Step times of single chunks, for many sizes at once: the same numbers as `Profile.step_ns`, as arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairway.profile.step_time import NS_PER_MS, Attention, AttentionFit, AttentionTable, Profile

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]


class LoneChunks:
    """Chunks of 1 to ``budget_tokens`` tokens, each alone in its step."""

    def __init__(self, profile: Profile, budget_tokens: int) -> None:
        self._profile = profile
        self._new_tokens: Int64Array = np.arange(1, budget_tokens + 1, dtype=np.int64)
        self._linear_ms = np.array([profile.linear.ms(new) for new in self._new_tokens.tolist()])

    def ns(self, context_tokens: int) -> Int64Array:
        """Return the times of chunks of 1, 2, ... tokens that end at ``context_tokens``.

        Shape: (as many as the budget allows and the context holds,).
        """
        new_tokens = self._new_tokens[:context_tokens]
        attention_ms = _attention_ms(self._profile.attention, new_tokens, context_tokens)
        ms = (self._linear_ms[: len(new_tokens)] + attention_ms) / self._profile.efficiency
        return np.rint(ms * NS_PER_MS).astype(np.int64)


def _attention_ms(attention: Attention, new_tokens: Int64Array, context_tokens: int) -> Float64Array:
    """Return `Attention.ms` of each chunk."""
    if attention.table is None:
        return _fit_ms(attention.fit, new_tokens, np.full_like(new_tokens, context_tokens))
    table = attention.table
    prefix_tokens = context_tokens - new_tokens
    near_new = np.clip(new_tokens, table.new_tokens[0], table.new_tokens[-1])
    near_prefix = np.clip(prefix_tokens, table.prefix_tokens[0], table.prefix_tokens[-1])
    measured_ms = _table_ms(table, near_new, near_prefix)
    fit_ms = _fit_ms(attention.fit, new_tokens, np.full_like(new_tokens, context_tokens))
    growth_ms = fit_ms - _fit_ms(attention.fit, near_new, near_new + near_prefix)
    is_measured = (near_new == new_tokens) & (near_prefix == prefix_tokens)
    return np.where(is_measured, measured_ms, np.maximum(0.0, measured_ms + growth_ms))


def _fit_ms(fit: AttentionFit, new_tokens: Int64Array, context_tokens: Int64Array) -> Float64Array:
    short_ms: Float64Array = np.maximum(fit.floor_ms, fit.per_context_token_ms * context_tokens + fit.constant_ms)
    if fit.long is None:
        return short_ms
    product = new_tokens * context_tokens
    long_ms = (
        fit.long.per_new_token_ms * new_tokens
        + fit.long.per_context_token_ms * context_tokens
        + fit.long.per_product_ms * product
    )
    total_ms: Float64Array = short_ms + np.where(product > fit.long.above_product, long_ms, 0.0)
    return total_ms


def _table_ms(table: AttentionTable, new_tokens: Int64Array, prefix_tokens: Int64Array) -> Float64Array:
    """Interpolate between the four neighbours of each point, all of which lie in the table."""
    grid = np.array(table.ms_at)
    row, row_share = _bracket(table.new_tokens, new_tokens)
    column, column_share = _bracket(table.prefix_tokens, prefix_tokens)
    next_row, next_column = np.minimum(row + 1, len(grid) - 1), np.minimum(column + 1, grid.shape[1] - 1)
    low = _between(grid[row, column], grid[row, next_column], column_share)
    high = _between(grid[next_row, column], grid[next_row, next_column], column_share)
    return _between(low, high, row_share)


def _bracket(axis: tuple[int, ...], values: Int64Array) -> tuple[Int64Array, Float64Array]:
    """Return, for each value, the axis point at or below it and the share of the way to the next one."""
    points = np.array(axis, dtype=np.int64)
    low = np.searchsorted(points, values, side="right") - 1
    gap = np.append(np.diff(points), 1)[low]
    return low, (values - points[low]) / gap


def _between(low: Float64Array, high: Float64Array, share: Float64Array) -> Float64Array:
    return np.minimum(high, low + (high - low) * share)

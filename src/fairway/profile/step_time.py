"""Step times: what a batch of chunks costs on a device.

A profile has two parts, measured apart by mixing batches: ``linear(new tokens of the step)`` and, per request in it,
``attention(new tokens, context tokens at the chunk's end)``. A step takes linear plus the sum of attention. Each part
is a fit, with a table where one was measured: inside the table's range it is interpolated, outside it the fit is used
and the tokens are counted as extrapolated. Nothing is clamped.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

NS_PER_MS = 1_000_000


@dataclass(frozen=True)
class LinearFit:
    """``max(floor, constant + per_token * tokens)`` in ms."""

    floor_ms: float
    constant_ms: float
    per_token_ms: float

    def ms(self, new_tokens: int) -> float:
        """Return the time for all new tokens of a step."""
        return max(self.floor_ms, self.per_token_ms * new_tokens + self.constant_ms)


def long_context_ms(
    new_tokens: int,
    context_tokens: int,
    above_product: float,
    per_new_token_ms: float,
    per_context_token_ms: float,
    per_product_ms: float,
) -> float:
    """Return `LongContextFit.ms`: numbers alone, so that it can be compiled as it stands."""
    product = new_tokens * context_tokens
    if product <= above_product:
        return 0.0
    return per_new_token_ms * new_tokens + per_context_token_ms * context_tokens + per_product_ms * product


@dataclass(frozen=True)
class LongContextFit:
    """What is added to attention where new tokens times context exceed ``above_product``, in ms."""

    above_product: int
    per_new_token_ms: float
    per_context_token_ms: float
    per_product_ms: float

    def ms(self, new_tokens: int, context_tokens: int) -> float:
        """Return the addition for one request."""
        return long_context_ms(
            new_tokens,
            context_tokens,
            self.above_product,
            self.per_new_token_ms,
            self.per_context_token_ms,
            self.per_product_ms,
        )


@dataclass(frozen=True)
class AttentionFit:
    """``max(floor, constant + per_context_token * context)`` plus the long-context part, in ms."""

    floor_ms: float
    constant_ms: float
    per_context_token_ms: float
    long: LongContextFit | None = None

    def ms(self, new_tokens: int, context_tokens: int) -> float:
        """Return the time for one request of a step."""
        short = max(self.floor_ms, self.per_context_token_ms * context_tokens + self.constant_ms)
        return short + (self.long.ms(new_tokens, context_tokens) if self.long else 0.0)


@dataclass(frozen=True)
class LinearTable:
    """Measured ``ms`` at rising ``tokens``."""

    tokens: tuple[int, ...]
    ms_at: tuple[float, ...]

    def covers(self, new_tokens: int) -> bool:
        """Whether ``new_tokens`` lies in the measured range."""
        return self.tokens[0] <= new_tokens <= self.tokens[-1]

    def ms(self, new_tokens: int) -> float:
        """Interpolate between the two neighbouring rows."""
        row, share = _bracket(self.tokens, new_tokens)
        return between(self.ms_at[row], self.ms_at[min(row + 1, len(self.tokens) - 1)], share)


@dataclass(frozen=True)
class AttentionTable:
    """Measured ``ms`` on a grid of rising new tokens (rows) and tokens before the chunk (columns)."""

    new_tokens: tuple[int, ...]
    prefix_tokens: tuple[int, ...]
    ms_at: tuple[tuple[float, ...], ...]

    def covers(self, new_tokens: int, prefix_tokens: int) -> bool:
        """Whether the point lies in the measured rectangle."""
        return (
            self.new_tokens[0] <= new_tokens <= self.new_tokens[-1]
            and self.prefix_tokens[0] <= prefix_tokens <= self.prefix_tokens[-1]
        )

    def ms(self, new_tokens: int, prefix_tokens: int) -> float:
        """Interpolate in both directions between the four neighbours."""
        row, row_share = _bracket(self.new_tokens, new_tokens)
        column, column_share = _bracket(self.prefix_tokens, prefix_tokens)
        next_row, next_column = min(row + 1, len(self.new_tokens) - 1), min(column + 1, len(self.prefix_tokens) - 1)
        low = between(self.ms_at[row][column], self.ms_at[row][next_column], column_share)
        high = between(self.ms_at[next_row][column], self.ms_at[next_row][next_column], column_share)
        return between(low, high, row_share)


@dataclass(frozen=True)
class Linear:
    """The linear part: a fit, with a table where one was measured."""

    fit: LinearFit
    table: LinearTable | None = None

    def extrapolates(self, new_tokens: int) -> bool:
        """Whether a measured table exists and does not reach there."""
        return self.table is not None and not self.table.covers(new_tokens)

    def ms(self, new_tokens: int) -> float:
        """Return the time, never falling in the tokens, across the table's edges too."""
        if self.table is None:
            return self.fit.ms(new_tokens)
        if self.table.covers(new_tokens):
            return self.table.ms(new_tokens)
        if new_tokens < self.table.tokens[0]:
            return min(self.table.ms_at[0], self.fit.ms(new_tokens))
        return max(self.table.ms_at[-1], self.fit.ms(new_tokens))


@dataclass(frozen=True)
class Attention:
    """The attention part: a fit, with a table where one was measured."""

    fit: AttentionFit
    table: AttentionTable | None = None

    def extrapolates(self, new_tokens: int, context_tokens: int) -> bool:
        """Whether a measured table exists and does not reach there."""
        return self.table is not None and not self.table.covers(new_tokens, context_tokens - new_tokens)

    def ms(self, new_tokens: int, context_tokens: int) -> float:
        """Return the time, never falling in new tokens or in the prefix, across the table's edges too.

        Outside the rectangle the fit's growth from the nearest measured point is added to what was measured there.
        """
        if self.table is None:
            return self.fit.ms(new_tokens, context_tokens)
        prefix_tokens = context_tokens - new_tokens
        near_new = min(max(new_tokens, self.table.new_tokens[0]), self.table.new_tokens[-1])
        near_prefix = min(max(prefix_tokens, self.table.prefix_tokens[0]), self.table.prefix_tokens[-1])
        measured_ms = self.table.ms(near_new, near_prefix)
        if (near_new, near_prefix) == (new_tokens, prefix_tokens):
            return measured_ms
        growth_ms = self.fit.ms(new_tokens, context_tokens) - self.fit.ms(near_new, near_new + near_prefix)
        return max(0.0, measured_ms + growth_ms)


@dataclass(frozen=True)
class Profile:
    """Step times of one model on one device, and what kind of evidence they are."""

    name: str
    device: str
    model: str
    evidence: str  # "modelled" or "measured"
    source: str
    efficiency: float
    linear: Linear
    attention: Attention

    def step_ns(self, chunks: Iterable[tuple[int, int]]) -> int:
        """Return the time of a step over ``chunks`` of (new tokens, context tokens at the end), rounded half to even.

        A step without chunks runs nothing and takes no time.
        """
        new_tokens, attention_ms = 0, 0.0
        for new, context in chunks:
            new_tokens += new
            attention_ms += self.attention.ms(new, context)
        if not new_tokens:
            return 0
        return round((self.linear.ms(new_tokens) + attention_ms) / self.efficiency * NS_PER_MS)

    def least_step_ns(self, new_tokens: int) -> int:
        """Return a time that no step of so many tokens undercuts: the linear part, to which attention adds."""
        return round(self.linear.ms(new_tokens) / self.efficiency * NS_PER_MS)

    def extrapolated_tokens(self, chunks: Iterable[tuple[int, int]]) -> int:
        """Return how many of the step's new tokens lie outside the measured range of either part."""
        listed = list(chunks)
        new_tokens = sum(new for new, _ in listed)
        if self.linear.extrapolates(new_tokens):
            return new_tokens
        return sum(new for new, context in listed if self.attention.extrapolates(new, context))

    def prefill_ns(self, n_tokens: int, hit_tokens: int, budget_tokens: int) -> int:
        """Return ``T(n, h)``: a prompt alone on the device, ``hit_tokens`` of it cached, in chunks of the budget."""
        total_ns, context_tokens = 0, hit_tokens
        while context_tokens < n_tokens:
            new_tokens = min(budget_tokens, n_tokens - context_tokens)
            context_tokens += new_tokens
            total_ns += self.step_ns([(new_tokens, context_tokens)])
        return total_ns


def _bracket(axis: tuple[int, ...], value: int) -> tuple[int, float]:
    """Return the axis point at or below ``value`` and the share of the way to the next one."""
    low = bisect_right(axis, value) - 1
    if low >= len(axis) - 1:
        return len(axis) - 1, 0.0
    return low, (value - axis[low]) / (axis[low + 1] - axis[low])


def between(low: float, high: float, share: float) -> float:
    """Return the point at ``share`` of the way from ``low`` to ``high``."""
    return min(high, low + (high - low) * share)  # rounding must not lift it above its upper neighbour

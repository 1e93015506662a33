"""From measured steps to the two parts of a profile: what a step costs, and what each request in it adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairway.errors import InputError
from fairway.measuring.plan import Chunks, Grid
from fairway.profile import Profile

Float64Array = npt.NDArray[np.float64]
NS_PER_MS = 1_000_000
_OUTLIER_DEVIATIONS = 5.0
_TO_SIGMA = 1.4826  # of the median absolute deviation, for a normal distribution
_GAUGE = 1e-3


@dataclass(frozen=True)
class Sample:
    """The repeats of one step."""

    chunks: Chunks
    step_ns: tuple[int, ...]

    @property
    def median_ms(self) -> float:
        """The middle of the repeats."""
        return float(np.median(self.step_ns)) / NS_PER_MS

    @property
    def deviation_ms(self) -> float:
        """Median absolute deviation, scaled to a standard deviation."""
        values = np.array(self.step_ns) / NS_PER_MS
        return float(np.median(np.abs(values - np.median(values)))) * _TO_SIGMA

    @property
    def outliers(self) -> int:
        """How many repeats lie further than five deviations (and a twentieth) from the middle."""
        values = np.array(self.step_ns) / NS_PER_MS
        limit = max(_OUTLIER_DEVIATIONS * self.deviation_ms, 0.05 * self.median_ms)
        return int((np.abs(values - self.median_ms) > limit).sum())


@dataclass(frozen=True)
class Parts:
    """Both tables in ms: shape (new,), and shape (new, prefix)."""

    linear_ms: Float64Array
    attention_ms: Float64Array


def split(samples: Sequence[Sample], grid: Grid) -> Parts:
    """Find both tables by least squares over the samples, each weighed by its own time.

    ``step = linear(all new tokens) + sum of attention(new, prefix)``. A part of attention that is proportional to the
    new tokens could as well be linear's: the smallest attention that rises with them is taken. Times never fall with
    tokens and are never negative: where noise says otherwise, a value is lifted to its neighbour's.

    Raises:
        InputError: a point of the grid was not measured.
    """
    news, prefixes = list(grid.new_tokens), list(grid.prefix_tokens)
    columns = len(news) * (1 + len(prefixes))
    rows, values = [], []
    for sample in samples:
        row = np.zeros(columns)
        row[news.index(sum(new for new, _ in sample.chunks))] = 1
        for new, prefix in sample.chunks:
            row[len(news) + news.index(new) * len(prefixes) + prefixes.index(prefix)] += 1
        rows.append(row / sample.median_ms)
        values.append(1.0)
    unmeasured = [index for index, seen in enumerate(np.any(np.array(rows) != 0, axis=0)) if not seen]
    if unmeasured:
        raise InputError(f"{len(unmeasured)} points of the grid were not measured", remedy="measure all of them")
    scale_ms = max(sample.median_ms for sample in samples)
    for index in range(len(news)):
        row = np.zeros(columns)
        row[len(news) + index * len(prefixes)] = _GAUGE / scale_ms
        rows.append(row)
        values.append(0.0)
    found = np.linalg.lstsq(np.array(rows), np.array(values), rcond=None)[0]
    linear, attention = found[: len(news)], found[len(news) :].reshape(len(news), len(prefixes))
    linear, attention = _smallest_attention(np.array(news, dtype=float), linear, attention)
    return Parts(_rising(linear, 0), _rising(_rising(np.maximum(attention, 0.0), 0), 1))


def _smallest_attention(
    tokens: Float64Array, linear: Float64Array, attention: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Move what is proportional to the tokens between the parts until attention without a prefix just rises."""
    spacing = np.diff(tokens)
    moved = max(0.0, -float(np.min(np.diff(attention[:, 0]) / spacing, initial=0.0)))
    moved = min(moved, max(0.0, float(np.min(np.diff(linear) / spacing, initial=np.inf))))
    return linear - moved * tokens, attention + moved * tokens[:, None]


def _rising(values: Float64Array, axis: int) -> Float64Array:
    return np.maximum.accumulate(values, axis=axis)


def linear_fit(grid: Grid, parts: Parts) -> dict[str, float]:
    """Return the fit that is used beyond the table: a floor, and a line through its upper half."""
    tokens, ms = np.array(grid.new_tokens, dtype=float), parts.linear_ms
    upper = slice(len(tokens) // 2, None)
    per_token_ms, constant_ms = np.polyfit(tokens[upper], ms[upper], 1) if len(tokens) > 2 else (0.0, ms[-1])
    per_token_ms = max(0.0, float(per_token_ms))
    return {
        "floor_ms": float(max(ms[0], 1e-6)),
        "constant_ms": max(0.0, float(constant_ms)),
        "per_token_ms": per_token_ms,
    }


def attention_fit(grid: Grid, parts: Parts) -> dict[str, object]:
    """Return the fit that gives the growth beyond the table: what each pair of a new and a context token costs."""
    new = np.array(grid.new_tokens, dtype=float)[:, None]
    context = new + np.array(grid.prefix_tokens, dtype=float)[None, :]
    pairs = new * context
    floor_ms = float(parts.attention_ms[0, 0])
    per_product_ms = max(0.0, float(((parts.attention_ms - floor_ms) * pairs).sum() / (pairs**2).sum()))
    return {
        "floor_ms": floor_ms,
        "constant_ms": 0.0,
        "per_context_token_ms": 0.0,
        "long": {
            "above_product": 0,
            "per_new_token_ms": 0.0,
            "per_context_token_ms": 0.0,
            "per_product_ms": per_product_ms,
        },
    }


def residuals(samples: Sequence[Sample], profile: Profile) -> list[Mapping[str, object]]:
    """Return each measured step beside what the profile says of it, in ms, and the difference as a share."""
    found: list[Mapping[str, object]] = []
    for sample in samples:
        said_ms = profile.step_ns([(new, new + prefix) for new, prefix in sample.chunks]) / NS_PER_MS
        found.append(
            {
                "chunks": [list(chunk) for chunk in sample.chunks],
                "measured_ms": sample.median_ms,
                "deviation_ms": sample.deviation_ms,
                "repeats": len(sample.step_ns),
                "outliers": sample.outliers,
                "profile_ms": said_ms,
                "residual_share": said_ms / sample.median_ms - 1,
            }
        )
    return found

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
_SYSTEMATIC = 0.02
_GAUGE = 1e-3
_NO_PULL = 1e-9
_NOTHING = 1e-12
_MOST_ROUNDS = 3


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
    def uncertainty_ms(self) -> float:
        """How far the median may be off: by its repeats' deviation, and by a fiftieth that no repeat shows."""
        return float(np.hypot(_SYSTEMATIC * self.median_ms, self.deviation_ms / np.sqrt(len(self.step_ns))))

    @property
    def outliers(self) -> int:
        """How many repeats lie further than five deviations (and a twentieth) from the middle."""
        values = np.array(self.step_ns) / NS_PER_MS
        limit = max(_OUTLIER_DEVIATIONS * self.deviation_ms, 0.05 * self.median_ms)
        return int((np.abs(values - self.median_ms) > limit).sum())


@dataclass(frozen=True)
class Parts:
    """Both tables in ms: shape (new,), and shape (new, prefix); ``is_best`` if no others are closer to the samples."""

    linear_ms: Float64Array
    attention_ms: Float64Array
    is_best: bool


def split(samples: Sequence[Sample], grid: Grid) -> Parts:
    """Find both tables by least squares over the samples, each weighed by its own time and by how its repeats agree.

    ``step = linear(all new tokens) + sum of attention(new, prefix)``. What is sought are the increments from point to
    point, none below 0: so times never fall with tokens, a chunk's tokens never cost less behind a longer prefix, and
    noise is averaged where it would say otherwise. A part of attention that is proportional to the new tokens could as
    well be linear's: the smallest attention is taken.

    Raises:
        InputError: a point of the grid was not measured.
    """
    news, prefixes = list(grid.new_tokens), list(grid.prefix_tokens)
    shape = len(news), len(prefixes)
    rows, wanted = [], []
    for sample in samples:
        linear, attention = np.zeros(len(news)), np.zeros(shape)
        linear[news.index(sum(new for new, _ in sample.chunks))] = 1
        for new, prefix in sample.chunks:
            attention[news.index(new), prefixes.index(prefix)] += 1
        rows.append(np.concatenate([linear, attention.ravel()]) / sample.uncertainty_ms)
        wanted.append(sample.median_ms / sample.uncertainty_ms)
    unmeasured = int((~np.any(np.array(rows) != 0, axis=0)).sum())
    if unmeasured:
        raise InputError(f"{unmeasured} points of the grid were not measured", remedy="measure all of them")
    steps = np.array(rows) @ _sums(shape)
    gauge = np.zeros((len(news), steps.shape[1]))
    for row in range(len(news)):
        gauge[row, len(news) + row * len(prefixes)] = _GAUGE / max(sample.median_ms for sample in samples)
    values = np.concatenate([wanted, np.zeros(len(gauge))])
    increments, is_best = least_squares_from_zero(np.concatenate([steps, gauge]), values)
    found = _sums(shape) @ increments
    return Parts(found[: len(news)], found[len(news) :].reshape(shape), is_best)


def _sums(shape: tuple[int, int]) -> Float64Array:
    """Return the matrix from increments to both tables, one below the other: each value is a sum up to its point."""
    rows, columns = np.tri(shape[0]), np.tri(shape[1])
    zeros = np.zeros((shape[0], shape[0] * shape[1]))
    return np.block([[rows, zeros], [zeros.T, np.kron(rows, columns)]])


def least_squares_from_zero(matrix: Float64Array, wanted: Float64Array) -> tuple[Float64Array, bool]:
    """Return the ``x`` without negative values that makes ``matrix @ x`` closest to ``wanted``, by Lawson and Hanson.

    Shapes: (rows, columns), (rows,) and (columns,). The search ends after some rounds: also returns whether it had come
    to an end by then.
    """
    scale = np.linalg.norm(matrix, axis=0)
    matrix = matrix / scale
    found = np.zeros(matrix.shape[1])
    free = np.zeros(matrix.shape[1], dtype=np.bool_)
    for _ in range(_MOST_ROUNDS * matrix.shape[1]):
        pull = matrix.T @ (wanted - matrix @ found)
        pull[free] = 0.0
        if pull.max() <= _NO_PULL:
            return found / scale, True
        free[pull.argmax()] = True
        while True:
            goal = np.zeros_like(found)
            goal[free] = np.linalg.lstsq(matrix[:, free], wanted, rcond=None)[0]
            below = free & (goal <= 0)
            if not below.any():
                break
            found += np.min(found[below] / (found[below] - goal[below])) * (goal - found)
            free &= found > _NOTHING
            found[~free] = 0.0
        found = goal
    return found / scale, False


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

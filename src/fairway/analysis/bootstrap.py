"""The paired bootstrap over seeds, exact to the order statistic.

A resample draws as many seeds as there are, with replacement, so it is one row of counts: how often each seed was
drawn. Every quantity is computed for all rows at once. Row 0 counts each seed once and so holds the point estimate.
Two quantities from the same rows are paired: a slow seed is slow for both.

Where seeds share windows of a recorded trace, windows are drawn in their place, each with all of its seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

BETTER = "better"
WORSE = "worse"
TIE = "tie"


@dataclass(frozen=True)
class Resampling:
    """How often to resample, from which seed, and how wide an interval is."""

    resamples: int = 10_000
    seed: int = 1
    confidence_percent: int = 95


@dataclass(frozen=True)
class Interval:
    """A point estimate with the bounds of its percentile bootstrap interval."""

    point: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """Whether one quantity is better (lower) than another; ``ratio`` is first over second."""

    verdict: str
    ratio: Interval


def seed_counts(n_seeds: int, resampling: Resampling) -> IntArray:
    """Return counts of shape ``(resamples + 1, n_seeds)``; each row sums to ``n_seeds``, row 0 is all ones."""
    random = np.random.Generator(np.random.PCG64(resampling.seed))
    drawn = random.integers(0, n_seeds, size=(resampling.resamples, n_seeds))
    rows = np.arange(1, resampling.resamples + 1)[:, None]
    counts = np.bincount((rows * n_seeds + drawn).ravel(), minlength=(resampling.resamples + 1) * n_seeds)
    counts = counts.reshape(resampling.resamples + 1, n_seeds).astype(np.int64)
    counts[0] = 1
    return counts


@dataclass(frozen=True, eq=False)
class Draws:
    """All resamples, each different one kept once: few seeds can be drawn in few ways."""

    distinct: IntArray  # (different resamples, seeds)
    places: IntArray  # (resamples + 1,): which of them each resample is

    @classmethod
    def of(cls, blocks: Sequence[int], resampling: Resampling) -> Draws:
        """Draw blocks; ``blocks`` names the one that each seed belongs to, in most cases the seed itself."""
        kinds = list(dict.fromkeys(blocks))
        counts = seed_counts(len(kinds), resampling)[:, [kinds.index(block) for block in blocks]]
        distinct, places = np.unique(counts, axis=0, return_inverse=True)
        return cls(distinct, places.reshape(-1))

    def apply(self, compute: Callable[[IntArray], FloatArray]) -> FloatArray:
        """Compute a quantity for every resample: (resamples + 1,)."""
        return compute(self.distinct)[self.places]


class SeedPool:
    """Values by seed, to be pooled as often as each seed was drawn."""

    def __init__(self, by_seed: Sequence[npt.NDArray[np.int64] | npt.NDArray[np.float64]]) -> None:
        values = np.concatenate([np.asarray(part) for part in by_seed])
        owner = np.repeat(np.arange(len(by_seed)), [len(part) for part in by_seed])
        order = np.argsort(values, kind="stable")
        self._sorted = values[order]
        self._sizes: IntArray = np.array([len(part) for part in by_seed], dtype=np.int64)
        # How many of each seed's values lie at or before a place in the pooled order: (n, seeds).
        self._up_to: IntArray = np.cumsum(owner[order][:, None] == np.arange(len(by_seed)), axis=0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._sorted)

    def percentile(self, percent: int, counts: IntArray) -> FloatArray:
        """Return the ``inverted_cdf`` percentile of every resample, NaN where a resample pools no value.

        ``counts`` is ``(resamples + 1, seeds)``, the result ``(resamples + 1,)``. Bisection over places in the pooled
        order with integer counts alone: equal to pooling the values of each resample and sorting them.
        """
        totals = (counts * self._sizes).sum(axis=1)
        result = np.full(len(counts), np.nan)
        drawn = totals > 0
        if drawn.any():
            ranks = np.maximum(-(-totals[drawn] * percent // 100), 1)
            result[drawn] = self._sorted[self._places(ranks, counts[drawn])]
        return result

    def _places(self, ranks: IntArray, counts: IntArray) -> IntArray:
        """First place in the pooled order up to which at least ``ranks`` drawn values lie."""
        low = np.zeros(len(ranks), dtype=np.int64)
        high = np.full(len(ranks), len(self._sorted) - 1, dtype=np.int64)
        while (low < high).any():
            middle = (low + high) // 2
            enough = np.einsum("ij,ij->i", counts, self._up_to[middle]) >= ranks
            high = np.where(enough, middle, high)
            low = np.where(enough, low, middle + 1)
        return low


def ratio(numerators: Sequence[int], denominators: Sequence[int], counts: IntArray) -> FloatArray:
    """Return the ratio of sums over drawn seeds for every resample, NaN where the lower sum is zero."""
    above = (counts * np.array(numerators, dtype=np.int64)).sum(axis=1)
    below = (counts * np.array(denominators, dtype=np.int64)).sum(axis=1)
    result = np.full(len(counts), np.nan)
    np.divide(above, below, out=result, where=below > 0)
    return result


def interval(vector: FloatArray, resampling: Resampling, runs: int) -> Interval:
    """Take the point estimate and the percentile interval of one quantity over all resamples of ``runs`` runs.

    NaN resamples are left out of the bounds; with none left the bounds are NaN, and so they are for a single run, of
    which every resample is the same.
    """
    resampled = np.sort(vector[1:][~np.isnan(vector[1:])])
    if len(resampled) == 0 or runs < 2:
        return Interval(float(vector[0]), float("nan"), float("nan"))
    outside_permille = (100 - resampling.confidence_percent) * 5
    low = -(-len(resampled) * outside_permille // 1000)
    high = -(-len(resampled) * (1000 - outside_permille) // 1000)
    return Interval(float(vector[0]), float(resampled[max(low, 1) - 1]), float(resampled[max(high, 1) - 1]))


def compare(first: FloatArray, second: FloatArray, resampling: Resampling, runs: int) -> Comparison:
    """Compare two latencies of the same resamples; only an interval of the ratio that leaves 1 out decides.

    A single run has no interval, and is a tie.
    """
    result = np.full(len(first), np.nan)
    np.divide(first, second, out=result, where=second > 0)
    bounds = interval(result, resampling, runs)
    if bounds.high < 1:
        return Comparison(BETTER, bounds)
    if bounds.low > 1:
        return Comparison(WORSE, bounds)
    return Comparison(TIE, bounds)


def finite(value: float) -> float | None:
    """Return a number that JSON can hold, None for NaN and infinity."""
    return value if math.isfinite(value) else None

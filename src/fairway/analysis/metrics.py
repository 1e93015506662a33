"""The metrics of a result, each for every resample of the bootstrap.

Definitions: TTFT is first token minus arrival. Percentiles are ``inverted_cdf`` over requests pooled over seeds. Worst
and worst over p99 are taken in each seed; what is reported is their median over seeds, of an even
number the lower middle one (and, for tables, their maximum).
The warm-up is not in a ``Result``; refused requests have no TTFT and are counted apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairway.analysis.bootstrap import FloatArray, IntArray, SeedPool, ratio
from fairway.analysis.results import Array, Result
from fairway.rows import SERVED, order_statistic

SHORT_PROMPT_TOKENS = 2048  # up to here a prompt counts as short
STARVING_WORST_OVER_P99 = 3  # a policy starves requests where worst/p99 lies above this
SPREAD_WAITING = 10  # hooks with fewer waiting say nothing about spread
NS_PER_S = 1_000_000_000

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Selection:
    """Which requests count; ``None`` means all."""

    phase: str | None = None
    kind: str | None = None
    prompts: str | None = None  # "short" or "long"

    def keeps(self, result: Result) -> BoolArray:
        """Say which of a result's requests are selected, served or not: (requests,)."""
        keep = np.ones(len(result.requests["seed"]), dtype=bool)
        if self.phase is not None:
            keep &= result.requests["phase"] == self.phase
        if self.kind is not None:
            keep &= result.requests["kind"] == self.kind
        if self.prompts is not None:
            short = result.requests["prompt_tokens"] <= SHORT_PROMPT_TOKENS
            keep &= short if self.prompts == "short" else ~short
        return keep


EVERYTHING = Selection()


class TtftPool:
    """TTFT of the selected, served requests of one result, by seed."""

    def __init__(self, result: Result, selection: Selection = EVERYTHING) -> None:
        requests = result.requests
        keep = selection.keeps(result) & (requests["outcome"] == SERVED)
        ttft_ns = np.ma.getdata(requests["first_token_ns"] - requests["arrival_ns"])[keep]
        self.by_seed_ns = _by_seed(ttft_ns, requests["seed"][keep], result.seeds)
        self._pool = SeedPool(self.by_seed_ns)

    def __len__(self) -> int:
        return len(self._pool)

    def percentile_s(self, percent: int, counts: IntArray) -> FloatArray:
        """Pooled percentile, seconds: (resamples + 1,)."""
        return self._pool.percentile(percent, counts) / NS_PER_S

    def mean_s(self, counts: IntArray) -> FloatArray:
        """Pooled mean, seconds: (resamples + 1,)."""
        sums_ns = [int(part.sum()) for part in self.by_seed_ns]
        return ratio(sums_ns, [len(part) for part in self.by_seed_ns], counts) / NS_PER_S

    def worst_s(self, counts: IntArray, percent: int = 50) -> FloatArray:
        """Percentile over seeds (50: median, 100: maximum) of each seed's worst, seconds: (resamples + 1,)."""
        return (
            SeedPool([part.max(keepdims=True) if len(part) else part for part in self.by_seed_ns]).percentile(
                percent, counts
            )
            / NS_PER_S
        )

    def worst_over_p99(self, counts: IntArray, percent: int = 50) -> FloatArray:
        """Percentile over seeds of each seed's worst over its own p99: (resamples + 1,)."""
        return SeedPool([_worst_over_p99(part) for part in self.by_seed_ns]).percentile(percent, counts)


def hit_rate(result: Result, selection: Selection, counts: IntArray) -> FloatArray:
    """Hit tokens over prompt tokens of the selected, served requests: (resamples + 1,)."""
    keep = selection.keeps(result) & (result.requests["outcome"] == SERVED)
    seed = result.requests["seed"][keep]
    hits = _sums(np.ma.getdata(result.requests["hit_tokens"])[keep], seed, result.seeds)
    return ratio(hits, _sums(result.requests["prompt_tokens"][keep], seed, result.seeds), counts)


def refused(result: Result, selection: Selection) -> int:
    """Count the selected requests that could never fit and were refused."""
    return int((selection.keeps(result) & (result.requests["outcome"] != SERVED)).sum())


def evicted_blocks(result: Result) -> int:
    """Blocks whose content was forgotten, over all whole runs."""
    return int(result.runs["evicted_blocks"].sum())


def busy_share(result: Result, counts: IntArray) -> FloatArray:
    """Busy time over the length of the runs: (resamples + 1,)."""
    busy_ns = [int(value) for value in result.runs["busy_ns"]]
    return ratio(busy_ns, [int(value) for value in result.runs["end_ns"]], counts)


def extrapolated_tokens_share(result: Result) -> float:
    """Computed tokens whose step time lies outside the profile's measured range, over all computed tokens."""
    return int(result.runs["extrapolated_tokens"].sum()) / max(1, int(result.runs["computed_tokens"].sum()))


def uncached_spread(
    result: Result, counts: IntArray, *, waiting_at_least: int = SPREAD_WAITING, extremes: bool = False
) -> FloatArray:
    """Median over hooks of p95 over p5 of the waiting requests' uncached tokens: (resamples + 1,).

    With ``extremes`` it is maximum over minimum.
    """
    hooks = result.hooks
    above, below = ("uncached_max", "uncached_min") if extremes else ("uncached_p95", "uncached_p5")
    keep = hooks["waiting"] >= waiting_at_least
    spread = hooks[above][keep] / np.maximum(hooks[below][keep], 1)
    return SeedPool(_by_seed(spread, hooks["seed"][keep], result.seeds)).percentile(50, counts)


def correlation_with_queue(result: Result, column: str, counts: IntArray, *, waiting_at_least: int) -> FloatArray:
    """Median over seeds of Spearman(queue length, ``column``) over hooks: (resamples + 1,).

    Seeds without two different values of both say nothing and are left out.
    """
    hooks = result.hooks
    keep = (hooks["waiting"] >= waiting_at_least) & ~np.isnan(hooks[column])
    by_seed = []
    for seed in result.seeds:
        mine = keep & (hooks["seed"] == seed)
        value = spearman(hooks["waiting"][mine], hooks[column][mine])
        by_seed.append(np.array([] if value is None else [value], dtype=np.float64))
    return SeedPool(by_seed).percentile(50, counts)


def replaced_seeds(result: Result) -> int:
    """How many seeds stand in for others that could not be calibrated."""
    return int((result.runs["seed_replacements"] > 0).sum())


def partly_hit(result: Result, counts: IntArray) -> FloatArray:
    """Share of served requests with some, but not all possible, of their tokens hit at start: (resamples + 1,)."""
    keep = result.requests["outcome"] == SERVED
    seed = result.requests["seed"][keep]
    hit_tokens = np.ma.getdata(result.requests["hit_tokens"])[keep]
    # At least one token is always computed, so at most n - 1 tokens can hit, in whole blocks.
    most_tokens = (result.requests["prompt_tokens"][keep] - 1) // result.block_tokens * result.block_tokens
    partly = ((hit_tokens > 0) & (hit_tokens < most_tokens)).astype(np.int64)
    return ratio(_sums(partly, seed, result.seeds), _sums(np.ones_like(partly), seed, result.seeds), counts)


def spearman(first: Array, second: Array) -> float | None:
    """Rank correlation with mean ranks for ties, or None where one side does not vary.

    Twice the ranks are integers, so the sums are exact and the same on every machine.
    """
    x, y = _doubled_ranks(first), _doubled_ranks(second)
    n, sum_x, sum_y = len(x), int(x.sum()), int(y.sum())
    var_x = n * int((x * x).sum()) - sum_x * sum_x
    var_y = n * int((y * y).sum()) - sum_y * sum_y
    if var_x == 0 or var_y == 0:
        return None
    return (n * int((x * y).sum()) - sum_x * sum_y) / math.sqrt(var_x * var_y)


def _doubled_ranks(values: Array) -> IntArray:
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(sizes)
    doubled: IntArray = (2 * ends - sizes + 1)[group]
    return doubled


def _by_seed(values: Array, seed_of: Array, seeds: Sequence[int]) -> list[Array]:
    return [values[seed_of == seed] for seed in seeds]


def _sums(values: Array, seed_of: Array, seeds: Sequence[int]) -> list[int]:
    return [int(part.sum()) for part in _by_seed(values, seed_of, seeds)]


def _worst_over_p99(ttft_ns: Array) -> FloatArray:
    if len(ttft_ns) == 0:
        return np.array([], dtype=np.float64)
    return np.array([int(ttft_ns.max()) / max(order_statistic(ttft_ns, 99), 1)])

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.analysis.bootstrap import BETTER, TIE, WORSE, Resampling, SeedPool, compare, interval, ratio, seed_counts

RESAMPLING = Resampling(resamples=200, seed=3)


def test_each_resample_draws_as_many_seeds_as_there_are() -> None:
    counts = seed_counts(7, RESAMPLING)
    assert counts.shape == (201, 7)
    assert (counts.sum(axis=1) == 7).all()
    assert (counts[0] == 1).all()
    assert (counts[1:] == 0).any()


def test_the_same_seed_draws_the_same() -> None:
    assert (seed_counts(5, RESAMPLING) == seed_counts(5, RESAMPLING)).all()
    assert (seed_counts(5, RESAMPLING) != seed_counts(5, Resampling(200, seed=4))).any()


@settings(max_examples=200, deadline=None)
@given(
    by_seed=st.lists(st.lists(st.integers(0, 12), max_size=9), min_size=1, max_size=6),
    percent=st.sampled_from([1, 5, 50, 95, 99, 100]),
    seed=st.integers(0, 99),
)
def test_percentiles_equal_those_of_pooled_values(by_seed: list[list[int]], percent: int, seed: int) -> None:
    counts = seed_counts(len(by_seed), Resampling(resamples=20, seed=seed))
    found = SeedPool([np.array(part, dtype=np.int64) for part in by_seed]).percentile(percent, counts)
    for row, value in zip(counts, found, strict=True):
        pooled = [x for part, times in zip(by_seed, row, strict=True) for x in part * int(times)]
        if not pooled:
            assert np.isnan(value)
            continue
        assert value == np.percentile(pooled, percent, method="inverted_cdf")


def test_ratio_is_one_of_sums() -> None:
    counts = np.array([[1, 1], [2, 0], [0, 2]])
    assert ratio([1, 3], [2, 4], counts).tolist() == [4 / 6, 2 / 4, 6 / 8]
    assert np.isnan(ratio([0], [0], np.array([[1]]))).all()


def test_an_interval_leaves_two_and_a_half_percent_on_either_side() -> None:
    bounds = interval(np.array([50.0, *range(1, 1001)]), RESAMPLING, runs=5)
    assert (bounds.point, bounds.low, bounds.high) == (50.0, 25.0, 975.0)


@pytest.mark.parametrize(("factor", "verdict"), [(0.8, BETTER), (1.25, WORSE), (1.0, TIE)])
def test_only_an_interval_without_equality_decides(factor: float, verdict: str) -> None:
    second = np.linspace(1, 2, 201)
    assert compare(second * factor, second, RESAMPLING, runs=5).verdict == verdict


def test_a_single_run_has_no_interval_and_decides_nothing() -> None:
    bounds = interval(np.full(201, 3.0), RESAMPLING, runs=1)
    assert bounds.point == 3
    assert np.isnan([bounds.low, bounds.high]).all()
    assert compare(np.full(201, 1.0), np.full(201, 9.0), RESAMPLING, runs=1).verdict == TIE
    assert compare(np.full(201, 1.0), np.full(201, 9.0), RESAMPLING, runs=2).verdict == BETTER


def test_a_ratio_on_both_sides_of_one_is_a_tie() -> None:
    second = np.ones(201)
    assert compare(np.linspace(0.9, 1.1, 201), second, RESAMPLING, runs=5).verdict == TIE


def test_pairing_finds_a_difference_that_seeds_would_hide() -> None:
    slow = [np.array([10**k, 10**k + 1]) for k in range(6)]
    counts = seed_counts(6, RESAMPLING)
    first = SeedPool(slow).percentile(50, counts)
    second = SeedPool([part * 2 for part in slow]).percentile(50, counts)
    assert compare(first, second, RESAMPLING, runs=6).verdict == BETTER

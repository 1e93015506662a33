import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairway.traces.corpora_card import Comparison, Described, card
from fairway.traces.facts import draw_from, quantiles, strata
from fairway.traces.filings import make_filings
from fairway.traces.statistics import hit_shares, kolmogorov_smirnov, uses


def test_the_distance_by_hand() -> None:
    assert kolmogorov_smirnov([1, 2, 3, 4], [1, 2, 3, 4]) == 0
    assert kolmogorov_smirnov([1, 2], [3, 4]) == 1
    assert kolmogorov_smirnov([1, 1, 1, 2], [1, 2]) == 0.25


def test_hit_shares_by_hand(make_trace) -> None:  # type: ignore[no-untyped-def]
    trace = make_trace([(32, [0, 1]), (48, [0, 1, 2]), (40, [0, 2, 3]), (16, [1])], 16)
    assert hit_shares(trace).tolist() == [0, 32 / 48, 16 / 40, 0]


def test_uses_counts_each_number() -> None:
    assert sorted(uses([3, 3, 5, 3, 9]).tolist()) == [1, 1, 3]


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=200), st.integers(1, 40))
def test_draws_stay_between_the_quantiles(values: list[int], steps: int) -> None:
    table = quantiles(np.array(values), steps)
    assert len(table) == steps + 1
    assert (table[0], table[-1]) == (min(values), max(values))
    assert list(table) == sorted(table)
    drawn = draw_from(table, np.array([0.0, 0.5, 1 - 2**-53]))
    assert min(values) <= drawn.min() <= drawn.max() <= max(values)
    assert drawn[0] == table[0]


def test_draws_follow_the_table() -> None:
    values = np.random.default_rng(1).lognormal(8, 1, 3_000).astype(np.int64)
    drawn = draw_from(quantiles(values, 40), strata(np.random.default_rng(2), 3_000))
    assert kolmogorov_smirnov(values, drawn) < 0.03


def test_strata_put_one_number_into_each_part() -> None:
    assert np.floor(np.sort(strata(np.random.default_rng(3), 50)) * 50).astype(int).tolist() == list(range(50))


def test_the_card_shows_both_sides_and_the_distance() -> None:
    comparison = Comparison("musique", "tokens", np.arange(1, 1_001), np.arange(501, 1_501))
    described = Described(make_filings(1), make_filings(1), (comparison,))
    line = card([described], 1).splitlines()[-1]
    assert line == "| `musique` | tokens | 1,000: 100, 500, 900 | 1,000: 600, 1,000, 1,400 | 0.500 |"

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairway.traces.ticks import spread_within_ticks, tick_ns

MS = 1_000_000


def stamps(*times_ms: int) -> np.ndarray:
    return np.array(times_ms, dtype=np.int64) * MS


def test_the_tick_survives_an_odd_stamp() -> None:
    assert tick_ns(stamps(0, 3000, 3000, 3000, 5999, 9000)) == 3000 * MS


def test_times_that_nobody_shares_are_not_quantised() -> None:
    assert tick_ns(stamps(0, 3000, 6000)) is None
    assert tick_ns(stamps(5, 5)) is None
    assert tick_ns(stamps()) is None


def test_the_tick_is_the_finest_step_not_the_most_frequent_one() -> None:
    assert tick_ns(stamps(0, 0, 2000, 5000, 7000, 9000, 10000, 12000, 15000)) == 1000 * MS


@given(st.integers(1, 10**6), st.lists(st.integers(1, 40), min_size=20, max_size=200))
def test_the_tick_is_found_again(tick_ms: int, steps: list[int]) -> None:
    steps[: len(steps) // 10 + 1] = [1] * (len(steps) // 10 + 1)
    times_ms = (np.cumsum([0, 0, *steps]) * tick_ms).tolist()
    assert tick_ns(stamps(*times_ms)) == tick_ms * MS


@given(st.integers(0, 10**6))
def test_a_chance_meeting_of_two_requests_is_no_tick(seed: int) -> None:
    steps_ns = np.random.default_rng(seed).exponential(10**9, 200).astype(np.int64)
    assert tick_ns(np.cumsum(np.concatenate([[0, 0], steps_ns + 1]))) is None


def test_requests_are_spread_over_their_tick_in_their_order() -> None:
    spread = spread_within_ticks(stamps(0, 3000, 3000, 3000, 5999, 9000), 3000 * MS, np.random.default_rng(1))
    assert spread.tolist() == sorted(spread.tolist())
    begins_ms, ends_ms = [0, 3000, 3000, 3000, 5999, 9000], [3000, 5999, 5999, 5999, 8999, 12000]
    for time_ns, begin_ms, end_ms in zip(spread.tolist(), begins_ms, ends_ms, strict=True):
        assert begin_ms * MS <= time_ns < end_ms * MS
    assert len(set(spread.tolist())) == 6


def test_the_spread_is_even() -> None:
    spread = spread_within_ticks(np.zeros(20_000, dtype=np.int64), 3000 * MS, np.random.default_rng(2))
    counts = np.histogram(spread, bins=10, range=(0, 3000 * MS))[0]
    assert counts.min() > 1_800


@given(st.lists(st.integers(0, 20), min_size=1, max_size=50), st.integers(1, 5), st.integers(0, 1000))
def test_no_request_passes_the_next_stamp(times: list[int], tick: int, seed: int) -> None:
    arrival_ns = np.sort(np.array(times, dtype=np.int64)) * 1000
    spread = spread_within_ticks(arrival_ns, tick * 1000, np.random.default_rng(seed))
    assert spread.tolist() == sorted(spread.tolist())
    assert ((spread >= arrival_ns) & (spread < arrival_ns + tick * 1000)).all()
    for stamp in set(arrival_ns.tolist()):
        later = arrival_ns[arrival_ns > stamp]
        if len(later):
            assert spread[arrival_ns == stamp].max() < later[0]

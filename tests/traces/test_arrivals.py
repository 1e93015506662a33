import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairway.traces.arrivals import PhaseSpan, phase_arrivals, time_change, unit_arrivals

S = 1_000_000


def test_the_time_change_by_hand() -> None:
    # 2 a second for 2 s (4 arrivals expected), nothing for 1 s, then 10 a second.
    spans = [
        PhaseSpan("calm", 0, 2 * S, 2.0),
        PhaseSpan("silent", 2 * S, 3 * S, 0.0),
        PhaseSpan("spike", 3 * S, 4 * S, 10.0),
    ]
    arrival_ns, phases = time_change(np.array([0.5, 3.0, 4.0, 9.0]), spans)
    assert arrival_ns.tolist() == [250_000_000, 1_500_000_000, 3_000_000_000, 3_500_000_000]
    assert phases == ["calm", "calm", "spike", "spike"]


@given(
    seed=st.integers(0, 10**6),
    rates=st.lists(st.floats(0, 50), min_size=1, max_size=5),
    seconds=st.integers(1, 20),
)
def test_arrivals_are_ordered_whole_microseconds_inside_their_phase(
    seed: int, rates: list[float], seconds: int
) -> None:
    spans = [
        PhaseSpan(str(place), place * seconds * S, (place + 1) * seconds * S, rate) for place, rate in enumerate(rates)
    ]
    arrival_ns, phases = phase_arrivals(seed, spans)
    assert (np.diff(arrival_ns) >= 0).all()
    assert (arrival_ns % 1000 == 0).all()
    for time_ns, phase in zip(arrival_ns.tolist(), phases, strict=True):
        span = spans[int(phase)]
        assert span.start_us * 1000 <= time_ns < span.end_us * 1000


@given(seed=st.integers(0, 10**6), low=st.floats(0.1, 5), factor=st.floats(1, 4))
def test_a_higher_rate_moves_arrivals_and_does_not_redraw_them(seed: int, low: float, factor: float) -> None:
    slow, _ = phase_arrivals(seed, [PhaseSpan("any", 0, 60 * S, low)])
    fast, _ = phase_arrivals(seed, [PhaseSpan("any", 0, 60 * S, low * factor)])
    assert len(fast) >= len(slow)
    assert (fast[: len(slow)] <= slow).all()


def test_a_longer_stream_begins_with_the_shorter_one() -> None:
    long = unit_arrivals(5, 1000.0)
    assert long[long < 70].tolist() == unit_arrivals(5, 70.0).tolist()


def test_gaps_have_mean_and_deviation_one() -> None:
    gaps = np.diff(unit_arrivals(11, 20_000.0))
    assert abs(gaps.mean() - 1) < 0.03
    assert abs(gaps.std() - 1) < 0.03

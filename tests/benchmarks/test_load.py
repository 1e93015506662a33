import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.load import Load, load_of


def test_a_queue_by_hand() -> None:
    # One is there at once, two wait for its end at 10, and nothing runs from 30 to 40.
    arrival_ns, start_ns, finish_ns = np.array([0, 1, 2, 40]), np.array([0, 10, 20, 40]), np.array([10, 20, 30, 50])
    assert load_of(arrival_ns, start_ns, finish_ns) == Load(longest_queue=2, mean_queue=1.25, busy_share=0.8)


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.integers(0, 20), st.integers(1, 20)),
        min_size=1,
        max_size=20,
    )
)
def test_a_queue_is_what_counting_at_every_start_finds(rows: list[tuple[int, int, int]]) -> None:
    arrival = np.array(sorted(arrival for arrival, _, _ in rows))
    start = arrival + np.array([wait for _, wait, _ in rows])
    finish = start + np.array([service for _, _, service in rows])
    load = load_of(arrival, start, finish)
    order = np.argsort(start, kind="stable")
    waiting = [int((arrival <= start[one]).sum()) - place for place, one in enumerate(order)]
    busy = {instant for one in range(len(rows)) for instant in range(start[one], finish[one])}
    assert load == Load(max(waiting), sum(waiting) / len(waiting), len(busy) / int(finish.max()))

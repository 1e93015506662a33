from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from benchmarks import traffic
from benchmarks.traffic import Arrivals, Content, parts
from fairway.traces import Trace

ARRAYS = ("arrival_ns", "prompt_tokens", "output_tokens", "block_ids", "block_offsets")


@pytest.fixture(scope="module")
def trace() -> Trace:
    (trace,) = parts(Content(), Arrivals(5.0), 1, 10_000)
    return trace


def test_a_longer_trace_begins_with_the_shorter_one_whatever_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    (whole,) = parts(Content(), Arrivals(5.0, crowd=70), 1, 300)
    monkeypatch.setattr(traffic, "PART_REQUESTS", 64)
    in_parts = list(parts(Content(), Arrivals(5.0, crowd=70), 1, 200))
    assert [len(part) for part in in_parts] == [64, 64, 64, 8]
    beginning = whole.first(200)
    for name in ("prompt_tokens", "output_tokens", "block_ids"):
        assert np.concatenate([getattr(part, name) for part in in_parts]).tolist() == getattr(beginning, name).tolist()
    assert [kind for part in in_parts for kind in part.kind] == list(beginning.kind)
    arrival_ns = np.concatenate([part.arrival_ns for part in in_parts])
    assert np.abs(arrival_ns - beginning.arrival_ns).max() <= 1000  # a sum in parts is rounded elsewhere
    assert arrival_ns[:70].tolist() == [0] * 70
    assert (np.diff(arrival_ns) >= 0).all()


def test_the_same_seed_gives_the_same_trace_and_another_one_another() -> None:
    one, again, other = (next(parts(Content(), Arrivals(5.0), seed, 100)) for seed in (1, 1, 2))
    for name in ARRAYS:
        assert getattr(one, name).tolist() == getattr(again, name).tolist()
    assert one.block_ids.tolist() != other.block_ids.tolist()


def test_ids_are_as_many_as_blocks_and_what_is_shared_is_a_prefix(trace: Trace) -> None:
    assert np.diff(trace.block_offsets).tolist() == (-(-trace.prompt_tokens // 16)).tolist()
    before: dict[int, int] = {}
    offsets = trace.block_offsets.tolist()
    for start, end in pairwise(offsets[:2000]):
        ids = trace.block_ids[start:end].tolist()
        for previous, block in zip([-1, *ids], ids, strict=False):
            assert before.setdefault(block, previous) == previous


def test_the_shape_is_what_the_module_says(trace: Trace) -> None:
    assert trace.prompt_tokens.mean() == pytest.approx(5_400, rel=0.05)
    shares = {kind: count / len(trace) for kind, count in Counter(trace.kind).items()}
    assert shares == pytest.approx({"usual": 0.7, "fewer": 0.15, "deeper": 0.15}, abs=0.02)
    assert np.diff(trace.arrival_ns).mean() == pytest.approx(1e9 / 5, rel=0.05)
    assert trace.block_ids.dtype == np.int32

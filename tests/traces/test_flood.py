from itertools import pairwise
from pathlib import Path

import pytest

from fairway.errors import InputError
from fairway.traces.corpus import make_corpus
from fairway.traces.filings import Filings
from fairway.traces.flood import flood_trace, hit_arrivals, hits_at, miss_arrivals, warm_arrivals
from fairway.traces.prompts import BlockNumbers
from fairway.traces.workload import FloodWorkload, load_workload

CORPUS = make_corpus(1)
FOLDER = Path(__file__).parents[2] / "config" / "workloads"


@pytest.fixture(scope="module")
def workload() -> FloodWorkload:
    loaded = load_workload(FOLDER / "sec-flood.yaml")
    assert isinstance(loaded, FloodWorkload)
    return loaded


def test_eight_units_are_warmed_at_once(workload: FloodWorkload) -> None:
    warm = warm_arrivals(workload, CORPUS, 4)
    assert [arrival.time_ns for arrival in warm] == [0] * 8
    assert len({arrival.request.segments[1].content for arrival in warm}) == 8
    for arrival in warm:
        unit_tokens = arrival.request.prompt_tokens - arrival.request.segments[-1].tokens
        assert 3_000 <= unit_tokens <= 9_000
        assert 250 <= arrival.request.segments[-1].tokens <= 600


def test_42_misses_arrive_evenly_over_20_s(workload: FloodWorkload) -> None:
    misses = miss_arrivals(workload, 4)
    assert len(misses) == 42
    assert misses[0].time_ns == 30_000_000_000
    assert misses[21].time_ns == 40_000_000_000
    assert misses[-1].time_ns < 50_000_000_000
    gaps_ns = {later.time_ns - earlier.time_ns for earlier, later in pairwise(misses)}
    assert max(gaps_ns) - min(gaps_ns) <= 1_000  # a microsecond
    assert all(3_000 <= miss.request.prompt_tokens <= 6_000 for miss in misses)
    assert len({miss.request.segments[1] for miss in misses}) == 42


def test_hits_ask_warmed_units_from_5_s_on_for_120_s(workload: FloodWorkload) -> None:
    times_ns = hit_arrivals(workload, 4, 12.0).tolist()
    assert times_ns[0] >= 35_000_000_000
    assert times_ns[-1] < 155_000_000_000
    assert 1_250 < len(times_ns) < 1_650
    hits = hits_at(workload, CORPUS, 4, times_ns)
    warmed = {arrival.request.segments[:-1] for arrival in warm_arrivals(workload, CORPUS, 4)}
    asked = {hit.request.segments[:-1] for hit in hits}
    assert asked == warmed


def test_the_flood_s_trace_is_in_order_with_kinds_and_phases(workload: FloodWorkload) -> None:
    hits = hits_at(workload, CORPUS, 4, [35_000_000_000, 40_000_000_000])
    trace = flood_trace(
        workload, [*hits, *warm_arrivals(workload, CORPUS, 4), *miss_arrivals(workload, 4)], BlockNumbers()
    )
    assert trace.arrival_ns.tolist() == sorted(trace.arrival_ns.tolist())
    assert trace.kind[:9] == ("warm",) * 8 + ("miss",)
    assert trace.phase[:9] == ("warm-up",) * 8 + ("misses",)
    assert [phase for phase, kind in zip(trace.phase, trace.kind, strict=True) if kind == "hit"] == ["flood", "flood"]
    assert trace.phase.count("misses") == 11  # those of the first 5 s; the others fall into the flood
    assert (trace.output_tokens == 1).all()


def test_a_corpus_without_enough_filings_is_refused(workload: FloodWorkload) -> None:
    with pytest.raises(InputError, match="8 warmed units need as many filings, the corpus has 3"):
        warm_arrivals(workload, Filings("sec", "embedded", 1, "none", 512, (20_000,) * 3), 4)


def test_units_that_cannot_have_their_tokens_are_refused(workload: FloodWorkload) -> None:
    with pytest.raises(InputError, match="unit_tokens"):
        warm_arrivals(workload, Filings("sec", "embedded", 1, "none", 10_000, (100_000,) * 8), 4)

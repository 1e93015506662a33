import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from fairway.calibration.phased import cache_size, fit_load, fit_phased, median_ttft_ns
from fairway.calibration.seeds import SeedUnusable
from fairway.errors import InputError
from fairway.replay import Replay
from fairway.traces import Trace
from fairway.traces.corpus import Corpus
from fairway.traces.workload import CacheRule, MedianTarget, PhasedWorkload

S = 1_000_000_000
TARGET = MedianTarget(median_s=5.5, tolerance_s=0.05, lowest_load=1.0, highest_load=4.0, iterations=20)


def one_server(trace: Trace, service_ns: int) -> Replay:
    """Serve first come, first served, one at a time and each as long."""
    first_token_ns, free_ns = [], 0
    for arrival_ns in trace.arrival_ns.tolist():
        free_ns = max(free_ns, arrival_ns) + service_ns
        first_token_ns.append(free_ns)
    count = len(trace)
    times_ns = np.array(first_token_ns, dtype=np.int64)
    nothing = np.zeros(count, dtype=np.int64)
    return Replay(
        start_ns=times_ns - service_ns,
        first_token_ns=times_ns,
        finish_ns=times_ns,
        hit_tokens=nothing,
        preemptions=nothing,
        refused=nothing.astype(np.bool_),
        refusals=(),
        steps=count,
        busy_ns=service_ns * count,
        end_ns=free_ns,
        evicted_blocks=0,
        computed_tokens=0,
        extrapolated_tokens=0,
        hooks=None,
    )


def trace_of(runs: list[list[int]], phases: list[str] | None = None) -> Trace:
    count = len(runs)
    return Trace(
        arrival_ns=np.arange(count, dtype=np.int64) * S,
        prompt_tokens=np.array([16 * len(run) for run in runs]),
        output_tokens=np.ones(count, dtype=np.int64),
        block_ids=np.array([block for run in runs for block in run]),
        block_offsets=np.cumsum([0, *map(len, runs)]),
        block_tokens=16,
        kind=("",) * count,
        phase=tuple(phases or [""] * count),
    )


def recording(median_s: Callable[[float], float]) -> tuple[Callable[[float], int], list[float]]:
    asked: list[float] = []

    def median_ns(load: float) -> int:
        asked.append(load)
        return round(median_s(load) * S)

    return median_ns, asked


def test_the_load_is_bisected_between_the_ends() -> None:
    median_ns, asked = recording(lambda load: 4 * (load - 1))  # 5.5 s at 2.375
    shares: list[float] = []
    found = fit_load(median_ns, TARGET, shares.append)
    assert asked == [1.0, 4.0, 2.5, 1.75, 2.125, 2.3125, 2.40625, 2.359375, 2.3828125]
    assert (found.load, found.median_ns, found.iterations) == (2.3828125, 5_531_250_000, 9)
    assert shares == [place / 20 for place in range(1, 10)]


@pytest.mark.parametrize(("median_s", "met"), [(5.45, True), (5.55, True), (5.449, False), (5.551, False)])
def test_the_tolerance_is_half_a_tenth_of_a_second(median_s: float, met: bool) -> None:
    median_ns, asked = recording(lambda load: median_s)
    if met:
        assert fit_load(median_ns, TARGET, lambda share: None).load == 1.0
    else:
        with pytest.raises(SeedUnusable, match=f"{median_s:.3f} s (already|even) at"):
            fit_load(median_ns, TARGET, lambda share: None)
    assert asked == ([1.0, 4.0] if median_s < 5.45 else [1.0])


def test_a_median_that_jumps_over_the_target_makes_the_seed_unusable() -> None:
    median_ns, asked = recording(lambda load: 5.0 if load < 2 else 6.0)
    with pytest.raises(SeedUnusable, match="within 20 replays"):
        fit_load(median_ns, TARGET, lambda share: None)
    assert len(asked) == 20


def test_the_median_is_that_of_the_phase_s_arrivals_and_an_order_statistic() -> None:
    trace = trace_of([[0]] * 5, ["steady", "spike", "spike", "spike", "spike"])
    result = one_server(trace, 3 * S)  # first tokens at 3, 6, 9, 12, 15 s: waits 3, 5, 7, 9, 11 s
    assert median_ttft_ns(trace, result, "spike") == 7 * S
    with pytest.raises(SeedUnusable, match="no request arrives in phase 'gap'"):
        median_ttft_ns(trace, result, "gap")


@pytest.mark.parametrize(
    ("rule", "cache_blocks"),
    [
        (CacheRule(share=0.5, headroom_blocks=2, highest_blocks=100), 8),  # the largest prompt and its headroom
        (CacheRule(share=1.0, headroom_blocks=1, highest_blocks=100), 8),  # the share
        (CacheRule(share=1.0, headroom_blocks=1, highest_blocks=7), 7),  # the card
    ],
)
def test_the_cache_holds_a_share_of_the_blocks_used_twice(rule: CacheRule, cache_blocks: int) -> None:
    runs = [[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 9], [6, 7, 8, 10], [6, 7, 8, 10], [11]]
    found = cache_size(trace_of(runs), rule, 16)
    assert found.reused_blocks == 8  # 0 to 3, 6 to 8, 10
    assert found.cache_blocks == cache_blocks


def test_a_prompt_larger_than_the_card_is_refused() -> None:
    with pytest.raises(InputError, match="needs 8 blocks"):
        cache_size(trace_of([[0, 1, 2, 3, 4, 5]]), CacheRule(share=0.3, headroom_blocks=2, highest_blocks=7), 16)


def test_rate_1_is_what_fcfs_serves_of_the_reference_requests(dynamic: PhasedWorkload, corpus: Corpus) -> None:
    seen: list[tuple[int, int, int]] = []

    def run_fcfs(trace: Trace, cache_blocks: int) -> Replay:
        seen.append((len(trace), int(trace.arrival_ns.max()), cache_blocks))
        return one_server(trace, S // 4)

    fit = fit_phased(dynamic, corpus, 2, run_fcfs, 16, lambda share: None)
    assert fit.rate_1_per_s == 4.0
    assert seen[0][:2] == (600, 0)
    assert {cache_blocks for _, _, cache_blocks in seen} == {fit.cache.cache_blocks}
    assert abs(fit.load.median_ns - 5.5 * S) <= 0.05 * S
    # One server at 4 a second falls behind by (load - 1) of the spike's time; half of that is the median wait.
    assert fit.load.load == pytest.approx(1 + 5.5 / 30, abs=0.25)


def test_a_request_that_does_not_fit_stops_calibration(dynamic: PhasedWorkload, corpus: Corpus) -> None:
    def run_fcfs(trace: Trace, cache_blocks: int) -> Replay:
        served = one_server(trace, S // 4)
        return dataclasses.replace(served, refused=np.arange(len(trace)) == 3)

    with pytest.raises(InputError, match="1 requests do not fit"):
        fit_phased(dynamic, corpus, 2, run_fcfs, 16, lambda share: None)

"""The rate of the flood's hits: a load times what FCFS can serve of them alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairway.calibration.fcfs import RunFcfs
from fairway.calibration.seeds import SeedUnusable
from fairway.errors import InputError
from fairway.traces.corpus import Corpus, numbering
from fairway.traces.flood import flood_trace, hit_arrivals, hits_at, warm_arrivals
from fairway.traces.workload import FloodWorkload

NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class FloodFit:
    """Number and rate of the hits, when the warm-up is over, and the replays that it took."""

    hits: int  # that arrive at this rate
    hits_per_s: float
    warm_end_ns: int
    iterations: int


def fit_flood(
    workload: FloodWorkload, corpus: Corpus, seed: int, run_fcfs: RunFcfs, progress: Callable[[float], None]
) -> FloodFit:
    """Find the rate at which as many hits arrive, but for ``settled_share``, as it was computed from.

    The rate is the load times ``N`` hits over FCFS's busy time for the first ``N`` hits, all present, units warm.

    Raises:
        SeedUnusable: the number of hits does not settle.
        InputError: the warm-up is not over when the first miss arrives.
    """
    start_ns = workload.warmup.seconds * NS_PER_S
    warm = warm_arrivals(workload, corpus, seed)
    warmed = run_fcfs(flood_trace(workload, warm, numbering(corpus, seed)), workload.cache_blocks)
    if warmed.end_ns > start_ns or warmed.refused.any():
        raise InputError(
            f"FCFS has not served the warm-up {workload.warmup.seconds} s after its beginning",
            remedy="raise warmup.seconds",
        )
    hits = workload.hits.first_guess_requests
    for iteration in range(1, workload.hits.iterations + 1):
        present = [*warm, *hits_at(workload, corpus, seed, [start_ns] * hits)]
        trace = flood_trace(workload, present, numbering(corpus, seed))
        busy_ns = run_fcfs(trace, workload.cache_blocks).busy_ns - warmed.busy_ns
        hits_per_s = workload.hits.load * hits * NS_PER_S / busy_ns
        arriving = len(hit_arrivals(workload, seed, hits_per_s))
        progress(iteration / workload.hits.iterations)
        if arriving == 0:
            raise SeedUnusable("no hit arrives")
        if abs(arriving - hits) <= workload.hits.settled_share * hits:
            return FloodFit(arriving, hits_per_s, warmed.end_ns, iteration)
        hits = arriving
    raise SeedUnusable(f"the number of hits does not settle within {workload.hits.iterations} replays")

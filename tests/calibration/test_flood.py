import dataclasses

import numpy as np
import pytest

from fairway.calibration.fcfs import fcfs_on
from fairway.calibration.flood import fit_flood
from fairway.calibration.seeds import SeedUnusable
from fairway.engine import Limits
from fairway.errors import InputError
from fairway.profile import Profile
from fairway.replay import Replay
from fairway.traces import Trace
from fairway.traces.corpus import Corpus
from fairway.traces.flood import hit_arrivals
from fairway.traces.workload import FloodWorkload

S = 1_000_000_000


def served_at(hits_per_s: int, trace: Trace) -> Replay:
    """Serve each warm request in 1 s and ``hits_per_s`` hits a second."""
    hits = trace.kind.count("hit")
    nothing = np.zeros(len(trace), dtype=np.int64)
    return Replay(
        start_ns=nothing,
        first_token_ns=nothing,
        finish_ns=nothing,
        hit_tokens=nothing,
        preemptions=nothing,
        refused=nothing.astype(np.bool_),
        refusals=(),
        steps=0,
        busy_ns=trace.kind.count("warm") * S + hits * S // hits_per_s,
        end_ns=trace.kind.count("warm") * S,
        evicted_blocks=0,
        computed_tokens=0,
        extrapolated_tokens=0,
        hooks=None,
    )


def test_hits_arrive_at_a_load_times_what_fcfs_serves_of_them(flood: FloodWorkload, corpus: Corpus) -> None:
    seen: list[tuple[int, int]] = []

    def run_fcfs(trace: Trace, cache_blocks: int) -> Replay:
        seen.append((trace.kind.count("hit"), cache_blocks))
        return served_at(10, trace)

    fit = fit_flood(flood, corpus, 3, run_fcfs, lambda share: None)
    assert fit.hits_per_s == pytest.approx(9.3, rel=1e-9)
    assert fit.hits == len(hit_arrivals(flood, 3, 9.3))
    assert fit.warm_end_ns == 8 * S
    # The warm-up alone, the first guess, then the number that arrives at 9.3 a second: it stays.
    assert seen == [(0, 12_970), (600, 12_970), (fit.hits, 12_970)]
    assert fit.iterations == 2


def test_the_warm_up_must_be_over_before_the_first_miss(flood: FloodWorkload, corpus: Corpus) -> None:
    short = dataclasses.replace(flood, warmup=dataclasses.replace(flood.warmup, seconds=7))
    with pytest.raises(InputError, match="has not served the warm-up 7 s after") as caught:
        fit_flood(short, corpus, 3, lambda trace, cache_blocks: served_at(10, trace), lambda share: None)
    assert "warmup.seconds" in caught.value.remedy


def test_a_number_that_does_not_settle_makes_the_seed_unusable(flood: FloodWorkload, corpus: Corpus) -> None:
    def run_fcfs(trace: Trace, cache_blocks: int) -> Replay:
        return served_at(20 if trace.kind.count("hit") < 1_500 else 5, trace)  # many hits are slow, few are quick

    with pytest.raises(SeedUnusable, match="does not settle within 20"):
        fit_flood(flood, corpus, 3, run_fcfs, lambda share: None)


def test_the_first_hits_of_the_real_engine_find_their_units_warm(
    flood: FloodWorkload, corpus: Corpus, profile: Profile, limits: Limits
) -> None:
    replays: list[tuple[Trace, Replay]] = []

    def run_fcfs(trace: Trace, cache_blocks: int) -> Replay:
        replays.append((trace, fcfs_on(profile, limits)(trace, cache_blocks)))
        return replays[-1][1]

    fit_flood(flood, corpus, 3, run_fcfs, lambda share: None)
    trace, result = replays[-1]
    is_hit = np.array(trace.kind) == "hit"
    uncached_tokens = (trace.prompt_tokens - result.hit_tokens)[is_hit]
    assert uncached_tokens.max() <= 600 + 15  # a question, and what of the unit shares a block with it

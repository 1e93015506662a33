"""Cache size, rate 1.0 and the calibrated phase's load of a workload in phases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairway.calibration.fcfs import RunFcfs
from fairway.calibration.seeds import SeedUnusable
from fairway.core import build_trie
from fairway.errors import InputError
from fairway.replay import Replay
from fairway.traces import Trace
from fairway.traces.corpus import Corpus
from fairway.traces.phased import Sequences
from fairway.traces.workload import CacheRule, MedianTarget, PhasedWorkload

NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class CacheSize:
    """Size of the cache, and the number of blocks used twice or more that it was taken from."""

    cache_blocks: int
    reused_blocks: int


@dataclass(frozen=True)
class LoadFit:
    """A load, FCFS's median TTFT there, and the replays that it took."""

    load: float
    median_ns: int
    iterations: int


@dataclass(frozen=True)
class PhasedFit:
    """All that is found for one seed."""

    cache: CacheSize
    rate_1_per_s: float
    load: LoadFit | None  # None where no phase's load is calibrated


def fit_phased(
    workload: PhasedWorkload,
    corpus: Corpus,
    seed: int,
    run_fcfs: RunFcfs,
    engine_block_tokens: int,
    progress: Callable[[float], None],
) -> PhasedFit:
    """Find cache size and rate 1.0 for one seed, and the load of the phase that is to be calibrated, if one is.

    Raises:
        SeedUnusable: no load in the allowed range brings FCFS's median to the target.
    """
    sequences = Sequences(workload, corpus, seed)
    reference = sequences.all_at_once(workload.reference_requests)
    cache = cache_size(reference, workload.cache, engine_block_tokens)
    busy_ns = _served(run_fcfs(reference, cache.cache_blocks)).busy_ns
    rate_1_per_s = len(reference) * NS_PER_S / busy_ns

    phase = workload.calibrated_phase
    if phase is None or workload.target is None:
        return PhasedFit(cache, rate_1_per_s, None)

    def median_ns(load: float) -> int:
        trace = sequences.in_phases(rate_1_per_s, load)
        return median_ttft_ns(trace, _served(run_fcfs(trace, cache.cache_blocks)), phase)

    return PhasedFit(cache, rate_1_per_s, fit_load(median_ns, workload.target, progress))


def cache_size(reference: Trace, rule: CacheRule, engine_block_tokens: int) -> CacheSize:
    """Return a share of the blocks used twice or more, but room for the largest prompt, and no more than the card has.

    Raises:
        InputError: the largest prompt with its headroom exceeds the card.
    """
    reused_blocks = build_trie(reference, engine_block_tokens).reused_blocks()
    largest_prompt_blocks = -(-int(reference.prompt_tokens.max()) // engine_block_tokens)
    least_blocks = largest_prompt_blocks + rule.headroom_blocks
    if least_blocks > rule.highest_blocks:
        raise InputError(
            f"the largest prompt needs {least_blocks} blocks with its headroom, the cache has at most "
            f"{rule.highest_blocks}",
            remedy="shorten the prompts, or raise cache.highest_blocks",
        )
    shared_blocks = round(rule.share * reused_blocks)
    return CacheSize(min(max(shared_blocks, least_blocks), rule.highest_blocks), reused_blocks)


def median_ttft_ns(trace: Trace, result: Replay, phase: str) -> int:
    """Return the median (inverted CDF) TTFT of the requests that arrive in ``phase``.

    Raises:
        SeedUnusable: none arrives in it.
    """
    arrives_in_phase = np.array([name == phase for name in trace.phase], dtype=np.bool_)
    if not arrives_in_phase.any():
        raise SeedUnusable(f"no request arrives in phase {phase!r}")
    ttft_ns = (result.first_token_ns - trace.arrival_ns)[arrives_in_phase]
    return int(np.quantile(ttft_ns, 0.5, method="inverted_cdf"))


def fit_load(median_ns: Callable[[float], int], target: MedianTarget, progress: Callable[[float], None]) -> LoadFit:
    """Bisect the load until FCFS's median meets the target; the median need not be monotone in the load.

    Raises:
        SeedUnusable: the target lies below the lowest or above the highest load, or the median jumps over it.
    """
    low, high = target.lowest_load, target.highest_load
    for iteration in range(1, target.iterations + 1):
        load = (low, high)[iteration - 1] if iteration <= 2 else (low + high) / 2
        found = LoadFit(load, median_ns(load), iteration)
        progress(iteration / target.iterations)
        miss_s = found.median_ns / NS_PER_S - target.median_s
        if abs(miss_s) <= target.tolerance_s:
            return found
        _check_end(found, miss_s, target)
        if iteration > 2:
            low, high = (load, high) if miss_s < 0 else (low, load)
    raise SeedUnusable(f"no load brings FCFS's median to {target.median_s} s within {target.iterations} replays")


def _check_end(found: LoadFit, miss_s: float, target: MedianTarget) -> None:
    median = f"FCFS's median is {found.median_ns / NS_PER_S:.3f} s"
    if found.load == target.lowest_load and miss_s > 0:
        raise SeedUnusable(f"{median} already at the lowest load {target.lowest_load}")
    if found.load == target.highest_load and miss_s < 0:
        raise SeedUnusable(f"{median} even at the highest load {target.highest_load}")


def _served(result: Replay) -> Replay:
    if result.refused.any():
        raise InputError(
            f"{int(result.refused.sum())} requests do not fit into the cache during calibration",
            remedy="raise cache.headroom_blocks, or shorten the prompts",
        )
    return result

"""Calibrating a workload for one seed and device without looking at the answer: only FCFS runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairway.calibration.fcfs import fcfs_on
from fairway.calibration.flood import fit_flood
from fairway.calibration.phased import fit_phased
from fairway.calibration.record import Calibration, FloodCalibration, PhasedCalibration
from fairway.calibration.seeds import UsableSeed, first_usable_seed
from fairway.engine import Limits
from fairway.errors import InputError
from fairway.profile import Profile
from fairway.traces.corpus import Corpus
from fairway.traces.workload import FloodWorkload, PhasedWorkload, Workload

NS_PER_S = 1_000_000_000


def _silent(share: float) -> None:
    pass


def calibrate(
    workload: Workload,
    seed: int,
    corpus: Corpus,
    profile: Profile,
    limits: Limits,
    progress: Callable[[float], None] = _silent,
) -> Calibration:
    """Find cache size and loads for ``seed``, or for the next usable seed of its slot.

    Of ``limits`` all but ``cache_blocks`` counts. ``progress`` is told the share (0 to 1) of the allowed replays of the
    seed in hand, which is the most that it can take.

    Raises:
        InputError: no seed of the slot can be calibrated, or the workload does not suit device or corpus.
    """
    if seed < 0:
        raise InputError(f"seed {seed} is negative", remedy="give a seed from 0 on")
    run_fcfs = fcfs_on(profile, limits)
    if isinstance(workload, FloodWorkload):
        flood = first_usable_seed(
            seed, workload.seeds, lambda candidate: fit_flood(workload, corpus, candidate, run_fcfs, progress)
        )
        return FloodCalibration(
            **_common(workload, seed, flood, corpus, profile, limits),
            cache_blocks=workload.cache_blocks,
            hits=flood.found.hits,
            hits_per_s=flood.found.hits_per_s,
            warm_end_s=flood.found.warm_end_ns / NS_PER_S,
            iterations=flood.found.iterations,
        )
    phased = first_usable_seed(
        seed,
        workload.seeds,
        lambda candidate: fit_phased(workload, corpus, candidate, run_fcfs, limits.block_tokens, progress),
    )
    load = phased.found.load
    return PhasedCalibration(
        **_common(workload, seed, phased, corpus, profile, limits),
        cache_blocks=phased.found.cache.cache_blocks,
        reused_blocks=phased.found.cache.reused_blocks,
        rate_1_per_s=phased.found.rate_1_per_s,
        calibrated_phase=workload.calibrated_phase,
        calibrated_load=load.load if load else None,
        fcfs_median_s=load.median_ns / NS_PER_S if load else None,
        iterations=load.iterations if load else 0,
    )


def _common(
    workload: PhasedWorkload | FloodWorkload,
    seed: int,
    usable: UsableSeed[Any],
    corpus: Corpus,
    profile: Profile,
    limits: Limits,
) -> dict[str, Any]:
    return {
        "workload": workload.name,
        "seed_asked": seed,
        "seed": usable.seed,
        "replaced": usable.replaced,
        "corpus_kind": corpus.kind,
        "corpus_sha256": corpus.sha256(),
        "profile": profile.name,
        "profile_evidence": profile.evidence,
        "budget_tokens": limits.budget_tokens,
        "max_num_seqs": limits.max_num_seqs,
        "block_tokens": limits.block_tokens,
    }

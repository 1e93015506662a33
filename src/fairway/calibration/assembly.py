"""The trace that a calibration ended on, with the header that says where it comes from."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from fairway import __version__
from fairway.calibration.record import Calibration, FloodCalibration, PhasedCalibration, calibration_fields
from fairway.errors import InputError
from fairway.traces import Trace
from fairway.traces.arrivals import NS_PER_US, PhaseSpan
from fairway.traces.corpus import Corpus
from fairway.traces.flood import flood_spans, flood_trace, hit_arrivals, hits_at, miss_arrivals, warm_arrivals
from fairway.traces.phased import Sequences, phase_spans
from fairway.traces.workload import FloodWorkload, PhasedWorkload, Workload


def build_trace(workload: Workload, corpus: Corpus, calibration: Calibration) -> Trace:
    """Return the trace of a calibrated workload, header included.

    Raises:
        InputError: the calibration belongs to another workload or corpus.
    """
    if calibration.workload != workload.name or calibration.corpus_sha256 != corpus.sha256():
        raise InputError(
            f"the calibration of {calibration.workload!r} does not belong to this workload and corpus",
            remedy="calibrate this workload on this corpus",
        )
    if isinstance(workload, PhasedWorkload) and isinstance(calibration, PhasedCalibration):
        found = (calibration.rate_1_per_s, calibration.calibrated_load)
        trace = Sequences(workload, corpus, calibration.seed).in_phases(*found)
        spans = phase_spans(workload, *found)
    elif isinstance(workload, FloodWorkload) and isinstance(calibration, FloodCalibration):
        trace = _flood(workload, corpus, calibration)
        spans = flood_spans(workload, calibration.hits_per_s)
    else:
        raise InputError(
            f"the calibration of {calibration.workload!r} is of another family", remedy="calibrate this workload again"
        )
    return dataclasses.replace(trace, header=_header(workload, corpus, calibration, spans))


def _flood(workload: FloodWorkload, corpus: Corpus, calibration: FloodCalibration) -> Trace:
    seed = calibration.seed
    hit_times_ns = hit_arrivals(workload, seed, calibration.hits_per_s).tolist()
    arrivals = [
        *warm_arrivals(workload, corpus, seed),
        *miss_arrivals(workload, seed),
        *hits_at(workload, corpus, seed, hit_times_ns),
    ]
    return flood_trace(workload, arrivals)


def _header(workload: Workload, corpus: Corpus, calibration: Calibration, spans: Sequence[PhaseSpan]) -> dict[str, Any]:
    header = {
        "workload": workload.name,
        "seed": calibration.seed,
        "seed_asked": calibration.seed_asked,
        "seed_replacements": len(calibration.replaced),
        "generator": f"fairway {__version__}",
        "tokenizer": corpus.tokenizer,
        "corpus_kind": corpus.kind,
        "corpus_sha256": corpus.sha256(),
        "parameters": {
            "cache_blocks": calibration.cache_blocks,
            "profile": calibration.profile,
            "profile_evidence": calibration.profile_evidence,
            "phases": [_phase(span) for span in spans],
            "requests": _provenance(workload, corpus, calibration.seed),
            "calibration": calibration_fields(calibration),
            "workload": dataclasses.asdict(workload),
        },
    }
    # As a reader will see it: JSON has lists where dataclasses have tuples.
    as_read: dict[str, Any] = json.loads(json.dumps(header))
    return as_read


def _provenance(workload: Workload, corpus: Corpus, seed: int) -> dict[str, Any]:
    return workload.content.provenance(corpus, seed) if isinstance(workload, PhasedWorkload) else {}


def _phase(span: PhaseSpan) -> dict[str, Any]:
    return {
        "name": span.name,
        "start_ns": span.start_us * NS_PER_US,
        "end_ns": span.end_us * NS_PER_US,
        "rate_per_s": span.rate_per_s,
    }

"""The trace that a calibration ended on, with the header that says where it comes from."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairway import __version__
from fairway.calibration.record import Calibration, FloodCalibration, PhasedCalibration, calibration_fields
from fairway.errors import InputError
from fairway.files import sha256
from fairway.traces import Trace, write_trace
from fairway.traces.arrivals import NS_PER_US, PhaseSpan
from fairway.traces.corpus import Corpus, numbering
from fairway.traces.flood import flood_spans, flood_trace, hit_arrivals, hits_at, miss_arrivals, warm_arrivals
from fairway.traces.phased import Sequences, phase_spans
from fairway.traces.token_blocks import TokenSink
from fairway.traces.token_file import token_file
from fairway.traces.workload import FloodWorkload, PhasedWorkload, Workload


def build_trace(workload: Workload, corpus: Corpus, calibration: Calibration, sink: TokenSink | None = None) -> Trace:
    """Return the trace of a calibrated workload, header included; the prompts' token ids go to ``sink`` on the way.

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
        trace = Sequences(workload, corpus, calibration.seed, sink).in_phases(*found)
        spans = phase_spans(workload, corpus, calibration.seed, *found)
    elif isinstance(workload, FloodWorkload) and isinstance(calibration, FloodCalibration):
        trace = _flood(workload, corpus, calibration, sink)
        spans = flood_spans(workload, calibration.hits_per_s)
    else:
        raise InputError(
            f"the calibration of {calibration.workload!r} is of another family", remedy="calibrate this workload again"
        )
    return dataclasses.replace(trace, header=_header(workload, corpus, calibration, spans))


def write_built_trace(
    workload: Workload, corpus: Corpus, calibration: Calibration, paths: Sequence[Path], tokens_path: Path | None = None
) -> Trace:
    """Build a trace and write it to ``paths``, each with its header; in the same pass, token ids to ``tokens_path``.

    Token ids are held in groups, so the memory needed does not grow with the text. Raises as `build_trace` does.
    """
    if tokens_path is None:
        trace = build_trace(workload, corpus, calibration)
    else:
        with token_file(tokens_path) as sink:
            trace = build_trace(workload, corpus, calibration, sink)
        token_ids = {
            "file": tokens_path.name,
            "sha256": sha256(tokens_path),
            "kind": "drawn" if corpus.text is None else "text",
        }
        trace = dataclasses.replace(trace, header={**trace.header, "token_ids": token_ids})
    for path in paths:
        write_trace(trace, path)
    return trace


def _flood(workload: FloodWorkload, corpus: Corpus, calibration: FloodCalibration, sink: TokenSink | None) -> Trace:
    seed = calibration.seed
    hit_times_ns = hit_arrivals(workload, seed, calibration.hits_per_s).tolist()
    arrivals = [
        *warm_arrivals(workload, corpus, seed),
        *miss_arrivals(workload, seed),
        *hits_at(workload, corpus, seed, hit_times_ns),
    ]
    return flood_trace(workload, arrivals, numbering(corpus, seed, sink))


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

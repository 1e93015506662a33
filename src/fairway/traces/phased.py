"""Traces in phases: the request sequence, consumed at load times rate 1.0."""

from __future__ import annotations

import dataclasses

import numpy as np

from fairway.traces.arrivals import US_PER_S, PhaseSpan, phase_arrivals
from fairway.traces.corpus import Corpus
from fairway.traces.prompts import assemble
from fairway.traces.sec import sec_requests
from fairway.traces.trace import Trace
from fairway.traces.workload import PhasedWorkload


def phase_spans(workload: PhasedWorkload, rate_1_per_s: float, calibrated_load: float) -> list[PhaseSpan]:
    """Return the phases one after the other, each at its load times rate 1.0."""
    spans: list[PhaseSpan] = []
    start_us = 0
    for phase in workload.phases:
        load = calibrated_load if isinstance(phase.load, str) else phase.load
        end_us = start_us + phase.seconds * US_PER_S
        spans.append(PhaseSpan(phase.name, start_us, end_us, load * rate_1_per_s))
        start_us = end_us
    return spans


def all_at_once(workload: PhasedWorkload, corpus: Corpus, seed: int, count: int) -> Trace:
    """Return the sequence's first ``count`` requests, all present at 0 and in no phase."""
    requests = sec_requests(workload.content, corpus, seed, count)
    return assemble(requests, np.zeros(count, dtype=np.int64), [""] * count, workload.output_tokens)


def in_phases(
    workload: PhasedWorkload, corpus: Corpus, seed: int, rate_1_per_s: float, calibrated_load: float
) -> Trace:
    """Return the trace of all phases, without a header."""
    arrival_ns, phases = phase_arrivals(seed, phase_spans(workload, rate_1_per_s, calibrated_load))
    sequence = all_at_once(workload, corpus, seed, len(phases))
    return dataclasses.replace(sequence, arrival_ns=arrival_ns, phase=tuple(phases))

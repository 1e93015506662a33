"""Traces in phases: request sequences, consumed at load times rate 1.0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from fairway.errors import InputError
from fairway.traces.arrivals import US_PER_S, PhaseSpan, expected_arrivals, time_change
from fairway.traces.corpus import Corpus
from fairway.traces.draws import Draws
from fairway.traces.prompts import Request, assemble
from fairway.traces.trace import Trace
from fairway.traces.workload import PhasedWorkload


def phase_spans(workload: PhasedWorkload, rate_1_per_s: float, calibrated_load: float | None) -> list[PhaseSpan]:
    """Return the phases one after the other, each at its load times rate 1.0.

    ``calibrated_load`` is None where no phase's load is calibrated.

    Raises:
        InputError: it is None, but a phase needs it.
    """
    spans: list[PhaseSpan] = []
    start_us = 0
    for phase in workload.phases:
        load = calibrated_load if isinstance(phase.load, str) else phase.load
        if load is None:
            raise InputError(
                f"the load of phase {phase.name!r} is not calibrated", remedy="calibrate the workload again"
            )
        end_us = start_us + phase.seconds * US_PER_S
        spans.append(PhaseSpan(phase.name, start_us, end_us, load * rate_1_per_s))
        start_us = end_us
    return spans


def all_at_once(workload: PhasedWorkload, corpus: Corpus, seed: int, count: int) -> Trace:
    """Return the sequence's first ``count`` requests, all present at 0 and in no phase."""
    requests = workload.content.requests(corpus, Draws(seed), count)
    return assemble(requests, np.zeros(count, dtype=np.int64), [""] * count, workload.output_tokens)


def in_phases(
    workload: PhasedWorkload, corpus: Corpus, seed: int, rate_1_per_s: float, calibrated_load: float | None
) -> Trace:
    """Return the trace of all phases, without a header."""
    spans = phase_spans(workload, rate_1_per_s, calibrated_load)
    units = workload.content.unit_arrivals(corpus, seed, expected_arrivals(spans))
    arrival_ns, phases = time_change(units, spans)
    return assemble(_consumed(workload, corpus, seed, phases), arrival_ns, phases, workload.output_tokens)


def _consumed(workload: PhasedWorkload, corpus: Corpus, seed: int, phases: Sequence[str]) -> list[Request]:
    """Return, for each arrival's phase, the next request of the sequence that this phase consumes."""
    added_exponent = {phase.name: phase.added_exponent for phase in workload.phases}
    counts = Counter(added_exponent[phase] for phase in phases)
    sequences = {
        added: iter(workload.content.requests(corpus, Draws(seed, added), count)) for added, count in counts.items()
    }
    return [next(sequences[added_exponent[phase]]) for phase in phases]

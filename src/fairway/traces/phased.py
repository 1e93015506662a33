"""Traces in phases: request sequences, consumed at load times rate 1.0."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from fairway.errors import InputError
from fairway.traces.arrivals import US_PER_S, PhaseSpan, expected_arrivals, time_change
from fairway.traces.corpus import Corpus, numbering
from fairway.traces.draws import Draws
from fairway.traces.prompts import Prompt, Request, assemble
from fairway.traces.token_blocks import TokenSink
from fairway.traces.trace import Trace
from fairway.traces.workload import PhasedWorkload


def phase_spans(
    workload: PhasedWorkload, corpus: Corpus, seed: int, rate_1_per_s: float, calibrated_load: float | None
) -> list[PhaseSpan]:
    """Return the phases one after the other, each at its load times rate 1.0.

    ``calibrated_load`` is None where no phase's load is calibrated.

    Raises:
        InputError: it is None, but a phase needs it; or nothing is left for a phase of the rest.
    """
    spans: list[PhaseSpan] = []
    start_us = 0
    for phase in workload.phases:
        load = calibrated_load if isinstance(phase.load, str) else phase.load
        if load is None:
            raise InputError(
                f"the load of phase {phase.name!r} is not calibrated", remedy="calibrate the workload again"
            )
        rate_per_s = load * rate_1_per_s
        if isinstance(phase.seconds, str):
            end_us = start_us + _rest_us(workload, corpus, seed, spans, rate_per_s)
        else:
            end_us = start_us + phase.seconds * US_PER_S
        spans.append(PhaseSpan(phase.name, start_us, end_us, rate_per_s))
        start_us = end_us
    return spans


def _rest_us(
    workload: PhasedWorkload, corpus: Corpus, seed: int, before: Sequence[PhaseSpan], rate_per_s: float
) -> int:
    """Return how long the requests last that the phases ``before`` leave over."""
    recorded = workload.content.recorded(corpus, seed)
    if recorded is None:
        raise InputError(
            f"{workload.name!r} has a phase of the rest, but its requests never end",
            remedy="give the phase's seconds as a number",
        )
    left = recorded - (int(expected_arrivals(before)) if before else 0)
    if left < 1:
        raise InputError(
            f"{workload.name!r} has {recorded} requests, none for its last phase", remedy="shorten the phases before"
        )
    return math.floor(left / rate_per_s * US_PER_S) + 1  # a microsecond more, so that rounding loses no request


class Sequences:
    """One seed's request sequences of a workload, drawn and numbered once however often a trace is made of them.

    Blocks are numbered in the order in which traces first use them, so the ids of a later trace depend on the earlier
    ones; which of its prompts share a prefix does not. The token ids of a prompt go to ``sink`` when it is first used.
    """

    def __init__(self, workload: PhasedWorkload, corpus: Corpus, seed: int, sink: TokenSink | None = None) -> None:
        self._workload = workload
        self._corpus = corpus
        self._seed = seed
        self._added_exponent = {phase.name: phase.added_exponent for phase in workload.phases}
        self._requests: dict[float, list[Request]] = {}  # by the exponent that is added to the workload's
        self._prompts: dict[float, list[Prompt]] = {}  # those of them that were used
        self._numbers = numbering(corpus, seed, sink)

    def all_at_once(self, count: int) -> Trace:
        """Return the first ``count`` requests, all present at 0 and in no phase."""
        self._draw(0.0, count)
        prompts = [self._prompt(0.0, place) for place in range(count)]
        return assemble(prompts, np.zeros(count, dtype=np.int64), [""] * count, self._workload.output_tokens)

    def in_phases(self, rate_1_per_s: float, calibrated_load: float | None) -> Trace:
        """Return the trace of all phases, without a header. Each phase goes on in its sequence.

        Raises:
            InputError: ``calibrated_load`` is None, but a phase needs it.
        """
        spans = phase_spans(self._workload, self._corpus, self._seed, rate_1_per_s, calibrated_load)
        units = self._workload.content.unit_arrivals(self._corpus, self._seed, expected_arrivals(spans))
        arrival_ns, phases = time_change(units, spans)
        exponents = [self._added_exponent[phase] for phase in phases]
        for exponent, count in Counter(exponents).items():
            self._draw(exponent, count)
        used: Counter[float] = Counter()
        prompts = []
        for exponent in exponents:
            prompts.append(self._prompt(exponent, used[exponent]))
            used[exponent] += 1
        return assemble(prompts, arrival_ns, phases, self._workload.output_tokens)

    def _draw(self, exponent: float, count: int) -> None:
        """Have at least ``count`` requests of a sequence; a longer one begins with the shorter one."""
        if len(self._requests.get(exponent, ())) < count:
            draws = Draws(self._seed, exponent)
            self._requests[exponent] = self._workload.content.requests(self._corpus, draws, count)

    def _prompt(self, exponent: float, place: int) -> Prompt:
        prompts = self._prompts.setdefault(exponent, [])
        if place == len(prompts):
            prompts.append(self._numbers.prompt(self._requests[exponent][place]))
        return prompts[place]

"""The flood: warmed units, misses, then a flood of hits on the warmed units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairway.errors import InputError
from fairway.traces.arrivals import NS_PER_US, US_PER_S, PhaseSpan, phase_arrivals
from fairway.traces.corpus import Corpus, as_kind
from fairway.traces.excerpts import LONGEST_LIST, excerpt_lists
from fairway.traces.filings import Filings
from fairway.traces.prompts import BlockNumbers, Request, Segment, number_and_assemble, system_prompt
from fairway.traces.sec import excerpt_segments
from fairway.traces.streams import scale_to_integers, stream
from fairway.traces.trace import Int64Array, Trace
from fairway.traces.workload import FloodWorkload

WARM, MISS, HIT = "warm", "miss", "hit"
WARMUP_PHASE, MISSES_PHASE, FLOOD_PHASE = "warm-up", "misses", "flood"


class Arrival(NamedTuple):
    """A request with its time; sorting by time keeps the order of equal times."""

    time_ns: int
    request: Request


def flood_spans(workload: FloodWorkload, hits_per_s: float) -> list[PhaseSpan]:
    """Return the phases; their rates are those of the hits, which arrive in the last phase alone."""
    misses_us = workload.warmup.seconds * US_PER_S
    hits_us = misses_us + workload.hits.delay_s * US_PER_S
    end_us = hits_us + workload.hits.seconds * US_PER_S
    return [
        PhaseSpan(WARMUP_PHASE, 0, misses_us, 0.0),
        PhaseSpan(MISSES_PHASE, misses_us, hits_us, 0.0),
        PhaseSpan(FLOOD_PHASE, hits_us, end_us, hits_per_s),
    ]


def hit_arrivals(workload: FloodWorkload, seed: int, hits_per_s: float) -> Int64Array:
    """Return the times of the hits in ns."""
    return phase_arrivals(seed, flood_spans(workload, hits_per_s))[0]


def warm_arrivals(workload: FloodWorkload, corpus: Corpus, seed: int) -> list[Arrival]:
    """Return one question about each warmed unit, all at 0."""
    questions = _question_tokens(workload, seed, "warm question lengths", workload.warmup.units)
    return [
        Arrival(0, Request(WARM, (*unit, Segment(("warm question", place), tokens))))
        for place, (unit, tokens) in enumerate(zip(_units(workload, corpus, seed), questions.tolist(), strict=True))
    ]


def miss_arrivals(workload: FloodWorkload, seed: int) -> list[Arrival]:
    """Return the misses, evenly over their time from the end of the warm-up on."""
    misses = workload.misses
    start_us = workload.warmup.seconds * US_PER_S
    lengths = misses.prompt_tokens.scale(stream(seed, "miss lengths").random(misses.requests))
    system = system_prompt(workload.system_tokens)
    return [
        Arrival(
            (start_us + place * misses.seconds * US_PER_S // misses.requests) * NS_PER_US,
            Request(MISS, (system, Segment(("miss", place), tokens - system.tokens))),
        )
        for place, tokens in enumerate(lengths.tolist())
    ]


def hits_at(workload: FloodWorkload, corpus: Corpus, seed: int, times_ns: Sequence[int]) -> list[Arrival]:
    """Return the first hits of the seed's sequence, one at each of ``times_ns``."""
    units = _units(workload, corpus, seed)
    asked = scale_to_integers(stream(seed, "asked units").random(len(times_ns)), 0, len(units) - 1)
    questions = _question_tokens(workload, seed, "question lengths", len(times_ns))
    return [
        Arrival(time_ns, Request(HIT, (*units[unit], Segment(("question", place), tokens))))
        for place, (time_ns, unit, tokens) in enumerate(zip(times_ns, asked.tolist(), questions.tolist(), strict=True))
    ]


def flood_trace(workload: FloodWorkload, arrivals: Sequence[Arrival], numbers: BlockNumbers) -> Trace:
    """Put arrivals of all kinds in order into a trace without a header; ``numbers`` gives the blocks their ids."""
    ordered = sorted(arrivals, key=lambda arrival: arrival.time_ns)
    times_ns = np.array([arrival.time_ns for arrival in ordered], dtype=np.int64)
    spans = flood_spans(workload, 0.0)
    starts_ns = [span.start_us * NS_PER_US for span in spans]
    places = np.searchsorted(starts_ns, times_ns, side="right") - 1
    return number_and_assemble(
        [arrival.request for arrival in ordered],
        times_ns,
        [spans[place].name for place in places.tolist()],
        workload.output_tokens,
        numbers,
    )


def _units(workload: FloodWorkload, corpus: Corpus, seed: int) -> list[tuple[Segment, ...]]:
    """Return the warmed units' shared segments: units of different filings, drawn by the seed."""
    filings = as_kind(Filings, corpus)
    count = workload.warmup.units
    known = len(filings.filing_tokens)
    if count > known:
        raise InputError(
            f"{count} warmed units need as many filings, the corpus has {known}", remedy="warm fewer units"
        )
    system = system_prompt(workload.system_tokens)
    lists = excerpt_lists(filings, known)
    chosen = stream(seed, "warmed units").permutation(known)[:count].tolist()
    depths = _unit_excerpts(workload, filings, seed)
    return [
        (system, *excerpt_segments(lists[unit][:depth], filings.chunk_tokens))
        for unit, depth in zip(chosen, depths.tolist(), strict=True)
    ]


def _unit_excerpts(workload: FloodWorkload, filings: Filings, seed: int) -> Int64Array:
    """Return, for each warmed unit, how many excerpts it has: whole ones that fit into the range of tokens."""
    tokens = workload.warmup.unit_tokens
    lowest = -(-(tokens.lowest - workload.system_tokens) // filings.chunk_tokens)
    highest = (tokens.highest - workload.system_tokens) // filings.chunk_tokens
    if not 1 <= lowest <= highest <= LONGEST_LIST:
        raise InputError(
            f"no unit of 1 to {LONGEST_LIST} whole excerpts has {tokens.lowest} to {tokens.highest} tokens",
            remedy="change warmup.unit_tokens",
        )
    return scale_to_integers(stream(seed, "unit excerpts").random(workload.warmup.units), lowest, highest)


def _question_tokens(workload: FloodWorkload, seed: int, stream_name: str, count: int) -> Int64Array:
    return workload.hits.question_tokens.scale(stream(seed, stream_name).random(count))

"""The embedded Mooncake-like agent trace.

Source of the statistics: the first 177 s of Mooncake's agent trace (kvcache-ai/Mooncake, FAST25-release), see
facts/mooncake.json. Requests belong to families: agents with long instructions that all their requests share, and a
chat whose requests share a short beginning and may continue an earlier one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from fairway.traces.agent_trace import AgentTrace
from fairway.traces.facts import draw_from, read_facts
from fairway.traces.filings import EMBEDDED
from fairway.traces.header import PUBLIC_BLOCK_TOKENS
from fairway.traces.streams import Float64Array, scale_to_integers, stream
from fairway.traces.trace import Int64Array, Trace

REQUESTS = 24_000  # about as many as the full public agent trace has
NS_PER_MS = 1_000_000
TOKENIZER = "none: lengths follow those of a public trace"


@dataclass(frozen=True)
class ContinuationFacts:
    """How requests continue an earlier one of their family."""

    per_mille: int  # of the requests for which there is an earlier one as long ago as the lag
    lag_ms: tuple[int, ...]
    whole_per_mille: int  # of these, begin with all full blocks of the earlier one, the others with fewer
    growth_tokens: tuple[int, ...]  # of the prompt since the earlier one


@dataclass(frozen=True)
class FamilyFacts:
    """Requests that begin alike; lengths as evenly spaced quantiles."""

    name: str
    requests: int
    shared_blocks: int
    prompt_tokens: tuple[int, ...]  # of those that do not continue another one
    output_tokens: tuple[int, ...]
    continuation: ContinuationFacts | None


@dataclass(frozen=True)
class AgentFacts:
    """What a real agent trace is like."""

    source: str
    requests: int
    ticks: int
    tick_ms: int
    families: tuple[FamilyFacts, ...]


def make_agent_trace(seed: int) -> AgentTrace:
    """Draw 24,000 requests, stamped by ticks as the public trace is."""
    facts = read_facts("mooncake", AgentFacts)
    time_ms = _times_ms(facts, seed)
    family_of = _families(facts, seed)
    numbers = _Numbers()
    rows: dict[int, _Row] = {}
    for place, family in enumerate(facts.families):
        members = np.flatnonzero(family_of == place)
        rows |= zip(members.tolist(), _family_rows(family, time_ms[members], seed, numbers), strict=True)
    stamp_ms = np.floor(time_ms / facts.tick_ms).astype(np.int64) * facts.tick_ms
    header = {"corpus_kind": EMBEDDED, "seed": seed, "tokenizer": TOKENIZER}
    return AgentTrace(EMBEDDED, seed, TOKENIZER, _trace([rows[place] for place in range(REQUESTS)], stamp_ms, header))


@dataclass(frozen=True)
class _Row:
    family: str
    prompt_tokens: int
    output_tokens: int
    block_ids: list[int]


class _Numbers:
    """Block ids that nobody has yet."""

    def __init__(self) -> None:
        self._unused = 0

    def take(self, count: int) -> list[int]:
        first = self._unused
        self._unused += count
        return list(range(first, self._unused))


@dataclass(frozen=True)
class _Earlier:
    """A request that another one continues, and where it branches off (None: behind all its full blocks)."""

    place: int
    growth_tokens: int
    branch_share: float | None


def _times_ms(facts: AgentFacts, seed: int) -> Float64Array:
    """Return Poisson arrivals at the real trace's rate, before they are stamped."""
    requests_per_ms = facts.requests / (facts.ticks * facts.tick_ms)
    return np.asarray(np.cumsum(stream(seed, "agent arrivals").standard_exponential(REQUESTS)) / requests_per_ms)


def _families(facts: AgentFacts, seed: int) -> Int64Array:
    """Return each request's family, as often as in the real trace."""
    ends = np.cumsum([family.requests for family in facts.families])
    drawn = scale_to_integers(stream(seed, "agent families").random(REQUESTS), 0, int(ends[-1]) - 1)
    return np.asarray(np.searchsorted(ends, drawn, side="right"), dtype=np.int64)


def _family_rows(family: FamilyFacts, time_ms: Float64Array, seed: int, numbers: _Numbers) -> list[_Row]:
    """Return the requests of one family; its times are in order."""
    count = len(time_ms)
    prompts = draw_from(family.prompt_tokens, _uniforms(family, "prompt lengths", seed, count)).tolist()
    outputs = draw_from(family.output_tokens, _uniforms(family, "output lengths", seed, count)).tolist()
    continued = _continued(family, time_ms, seed)
    shared = numbers.take(family.shared_blocks)
    rows: list[_Row] = []
    for place in range(count):
        earlier = continued[place]
        if earlier is None:
            known, tokens = shared, prompts[place]
        else:
            known, tokens = _beginning(rows[earlier.place], earlier, prompts[place])
        tokens = max(tokens, len(known) * PUBLIC_BLOCK_TOKENS + 1)  # something of its own comes behind
        fresh = numbers.take(-(-tokens // PUBLIC_BLOCK_TOKENS) - len(known))
        rows.append(_Row(family.name, tokens, outputs[place], [*known, *fresh]))
    return rows


def _continued(family: FamilyFacts, time_ms: Float64Array, seed: int) -> list[_Earlier | None]:
    """Return, for each request, the one that it continues: the last that is at least the lag ago, if any is."""
    facts = family.continuation
    count = len(time_ms)
    if facts is None:
        return [None] * count
    wants = _uniforms(family, "continuations", seed, count) * 1000 < facts.per_mille
    lags_ms = draw_from(facts.lag_ms, _uniforms(family, "lags", seed, count))
    places = np.searchsorted(time_ms, time_ms - lags_ms, side="right") - 1
    whole = _uniforms(family, "whole continuations", seed, count) * 1000 < facts.whole_per_mille
    growth = draw_from(facts.growth_tokens, _uniforms(family, "growths", seed, count))
    shares = _uniforms(family, "branching points", seed, count)
    return [
        _Earlier(place, growth_tokens, None if is_whole else share) if wanted and place >= 0 else None
        for wanted, place, growth_tokens, is_whole, share in zip(
            wants.tolist(), places.tolist(), growth.tolist(), whole.tolist(), shares.tolist(), strict=True
        )
    ]


def _beginning(row: _Row, earlier: _Earlier, fresh_tokens: int) -> tuple[list[int], int]:
    """Return the blocks that a request has in common with the one that it continues, and its length."""
    full_blocks = row.prompt_tokens // PUBLIC_BLOCK_TOKENS
    if earlier.branch_share is None:
        return row.block_ids[:full_blocks], row.prompt_tokens + earlier.growth_tokens
    return row.block_ids[: 1 + int(earlier.branch_share * full_blocks)], fresh_tokens


def _uniforms(family: FamilyFacts, purpose: str, seed: int, count: int) -> Float64Array:
    return stream(seed, f"{family.name}: {purpose}").random(count)


def _trace(rows: Sequence[_Row], stamp_ms: Int64Array, header: dict[str, Any]) -> Trace:
    return Trace(
        arrival_ns=(stamp_ms - stamp_ms[0]) * NS_PER_MS,
        prompt_tokens=np.array([row.prompt_tokens for row in rows], dtype=np.int64),
        output_tokens=np.array([row.output_tokens for row in rows], dtype=np.int64),
        block_ids=np.array(list(chain.from_iterable(row.block_ids for row in rows)), dtype=np.int64),
        block_offsets=np.cumsum([0, *(len(row.block_ids) for row in rows)], dtype=np.int64),
        block_tokens=PUBLIC_BLOCK_TOKENS,
        kind=tuple(row.family for row in rows),
        phase=("",) * len(rows),
        header=header,
    )

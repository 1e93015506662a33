"""Requests of an agent trace, a window of it for each seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from fairway.errors import InputError
from fairway.traces.agent_trace import AgentTrace
from fairway.traces.corpus import Corpus, as_kind
from fairway.traces.draws import Draws
from fairway.traces.prompts import Request, Segment
from fairway.traces.source import RequestSource
from fairway.traces.streams import Float64Array, stream
from fairway.traces.ticks import spread_within_ticks, tick_ns
from fairway.traces.trace import Int64Array, Trace

SPREAD = "spread"


@dataclass(frozen=True)
class _Window:
    """A run of usable requests of the trace: their places in it, their times, and when the next ones come."""

    number: int
    windows: int
    places: Int64Array
    arrival_ns: Int64Array
    tick_ns: int | None

    def needed(self, count: int) -> Int64Array:
        """Return the places of the first ``count`` requests.

        Raises:
            InputError: the window has fewer.
        """
        if count > len(self.places):
            raise InputError(
                f"window {self.number} of the agent trace has {len(self.places)} requests, {count} are needed",
                remedy="raise content.window_requests, or give a longer trace",
            )
        return self.places[:count]


@dataclass(frozen=True)
class MooncakeContent(RequestSource):
    """Windows of an agent trace without its longest prompts; one window a seed, disjoint while there are enough."""

    corpus: ClassVar[str] = "mooncake"
    has_popularity: ClassVar[bool] = False

    kind: Literal["mooncake"]
    longest_prompt_tokens: int
    window_requests: int
    ticks: Literal["spread", "raw"]  # arrivals stamped alike: spread within the tick, or all at once

    def __post_init__(self) -> None:
        if self.longest_prompt_tokens < 1 or self.window_requests < 2:
            raise ValueError("longest_prompt_tokens must be at least 1, window_requests at least 2")

    def requests(self, corpus: Corpus, draws: Draws, count: int) -> list[Request]:
        """Return the first ``count`` requests of the seed's window."""
        trace = as_kind(AgentTrace, corpus).trace
        return [_request(trace, place) for place in self._window(trace, draws.seed).needed(count).tolist()]

    def unit_arrivals(self, corpus: Corpus, seed: int, expected: float) -> Float64Array:
        """Return the times of the window's first requests, as many as expected, scaled to a mean rate of 1."""
        window = self._window(as_kind(AgentTrace, corpus).trace, seed)
        count = int(expected)
        window.needed(count)
        elapsed_ns = window.arrival_ns - window.arrival_ns[0]
        later_ns = elapsed_ns[elapsed_ns > elapsed_ns[count - 1]]
        end_ns = int(later_ns[0]) if len(later_ns) else int(elapsed_ns[-1]) + (window.tick_ns or 1)
        return np.asarray(elapsed_ns[:count] / end_ns * count)

    def recorded(self, corpus: Corpus, seed: int) -> int:
        """Return how many requests the seed's window has."""
        return len(self._window(as_kind(AgentTrace, corpus).trace, seed).places)

    def provenance(self, corpus: Corpus, seed: int) -> dict[str, Any]:
        """Return what a trace's header says of the seed's window and of what was left out."""
        trace = as_kind(AgentTrace, corpus).trace
        window = self._window(trace, seed)
        too_long = trace.prompt_tokens > self.longest_prompt_tokens
        return {
            "window": window.number,
            "windows": window.windows,
            "timestamps": "not quantised" if window.tick_ns is None else f"quantised, {self.ticks}",
            "tick_ns": window.tick_ns,
            "longest_prompt_tokens": self.longest_prompt_tokens,
            "left_out_requests": int(too_long.sum()),
            "left_out_tokens": int(trace.prompt_tokens[too_long].sum()),
            "trace_requests": len(trace),
            "trace_tokens": int(trace.prompt_tokens.sum()),
        }

    def _window(self, trace: Trace, seed: int) -> _Window:
        usable = np.flatnonzero(trace.prompt_tokens <= self.longest_prompt_tokens)
        if len(usable) == 0:
            raise InputError(
                f"no prompt of the agent trace has {self.longest_prompt_tokens} tokens or fewer",
                remedy="raise content.longest_prompt_tokens",
            )
        tick = tick_ns(trace.arrival_ns)
        arrival_ns = trace.arrival_ns[usable]
        if tick is not None and self.ticks == SPREAD:
            arrival_ns = spread_within_ticks(arrival_ns, tick, stream(seed, "arrivals within ticks"))
        windows = max(1, len(usable) // self.window_requests)
        number = seed % windows
        run = slice(number * self.window_requests, (number + 1) * self.window_requests)
        return _Window(number, windows, usable[run], arrival_ns[run], tick)


def _request(trace: Trace, place: int) -> Request:
    """Return a request of the trace as segments, one a block: equal ids of equal length are equal text."""
    ids = trace.block_ids[trace.block_offsets[place] : trace.block_offsets[place + 1]].tolist()
    tail_tokens = int(trace.prompt_tokens[place]) - (len(ids) - 1) * trace.block_tokens
    lengths = [*[trace.block_tokens] * (len(ids) - 1), tail_tokens]
    return Request(
        trace.kind[place],
        tuple(Segment(("block", block), tokens) for block, tokens in zip(ids, lengths, strict=True)),
    )

"""How loaded a replay was, from the times of its requests alone: the same for every simulator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairway.traces.trace import Int64Array


@dataclass(frozen=True)
class Load:
    """Waiting requests and busy time of one replay."""

    longest_queue: int
    mean_queue: float  # waiting when a request starts, itself included
    busy_share: float  # of the time until the last request ends, with at least one request running


def load_of(arrival_ns: Int64Array, start_ns: Int64Array, finish_ns: Int64Array) -> Load:
    """Return the load of a replay of requests that all were served, arrays of shape (n,)."""
    starts = np.sort(start_ns)
    waiting = np.searchsorted(np.sort(arrival_ns), starts, side="right") - np.arange(len(starts))
    return Load(int(waiting.max()), float(waiting.mean()), _covered_ns(start_ns, finish_ns) / int(finish_ns.max()))


def _covered_ns(start_ns: Int64Array, finish_ns: Int64Array) -> int:
    """Return how much time lies between some request's start and its end."""
    order = np.argsort(start_ns, kind="stable")
    starts, ends = start_ns[order], np.maximum.accumulate(finish_ns[order])
    gaps = np.maximum(0, starts[1:] - ends[:-1])
    return int(ends[-1] - starts[0] - gaps.sum())

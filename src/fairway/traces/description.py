"""What a trace is at a glance, so that a wrong time unit is seen before anything is run."""

from __future__ import annotations

from dataclasses import dataclass

from fairway.traces.header import TIME_UNIT
from fairway.traces.trace import Trace

NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class Description:
    """Number of requests, span from first to last arrival, and mean rate over it (None for no span)."""

    requests: int
    span_s: float
    mean_rate_per_s: float | None
    time_unit: str

    def __str__(self) -> str:
        rate = "all at once" if self.mean_rate_per_s is None else f"{self.mean_rate_per_s:.3f} requests/s"
        return f"{self.requests} requests over {self.span_s:.3f} s, {rate} (times in {self.time_unit})"


def describe_trace(trace: Trace) -> Description:
    """Describe a trace; the rate counts the arrivals after the first."""
    span_ns = int(trace.arrival_ns[-1] - trace.arrival_ns[0])
    rate = None if span_ns == 0 else (len(trace) - 1) * NS_PER_S / span_ns
    return Description(len(trace), span_ns / NS_PER_S, rate, str(trace.header.get("time_unit", TIME_UNIT)))

"""What a trace is at a glance, so that a wrong time unit is seen before anything is run."""

from __future__ import annotations

from dataclasses import dataclass

from fairway.traces.header import TIME_UNIT
from fairway.traces.ticks import tick_ns
from fairway.traces.trace import Trace

NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class Description:
    """What there is to see of a trace's times."""

    requests: int
    span_s: float  # from the first arrival to the last
    mean_rate_per_s: float | None  # None for no span
    time_unit: str
    tick_s: float | None  # that times are quantised to; None if they are not

    def __str__(self) -> str:
        rate = "all at once" if self.mean_rate_per_s is None else f"{self.mean_rate_per_s:.3f} requests/s"
        tick = "" if self.tick_s is None else f", quantised in ticks of {self.tick_s:.3f} s"
        return f"{self.requests} requests over {self.span_s:.3f} s, {rate} (times in {self.time_unit}{tick})"


def describe_trace(trace: Trace) -> Description:
    """Describe a trace; the rate counts the arrivals after the first."""
    span_ns = int(trace.arrival_ns[-1] - trace.arrival_ns[0])
    rate = None if span_ns == 0 else (len(trace) - 1) * NS_PER_S / span_ns
    tick = tick_ns(trace.arrival_ns)
    tick_s = None if tick is None else tick / NS_PER_S
    return Description(len(trace), span_ns / NS_PER_S, rate, str(trace.header.get("time_unit", TIME_UNIT)), tick_s)


def describe_window(trace: Trace) -> str:
    """Say which window of an agent trace a trace is and what was left out; nothing for other traces."""
    window = trace.header.get("parameters", {}).get("requests", {})
    if "window" not in window:
        return ""
    tokens_share = window["left_out_tokens"] / window["trace_tokens"]
    return (
        f"window {window['window']} of {window['windows']}; timestamps {window['timestamps']}; prompts above "
        f"{window['longest_prompt_tokens']:,} tokens left out: {window['left_out_requests']:,} of "
        f"{window['trace_requests']:,} requests, {tokens_share:.0%} of the tokens"
    )

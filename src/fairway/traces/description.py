"""What a trace is at a glance, so that a wrong time unit is seen before anything is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairway.errors import InputError
from fairway.traces.screening import EXCLUDED
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
    return Description(len(trace), span_ns / NS_PER_S, rate, str(trace.header.get("time_unit", "ms")), tick_s)


@dataclass(frozen=True)
class LeftOut:
    """What of a recorded trace is not replayed, of how much, and why."""

    requests: int
    tokens: int  # of prompts
    of_requests: int
    of_tokens: int
    reason: str

    def __str__(self) -> str:
        return (
            f"{self.reason} left out: {self.requests:,} of {self.of_requests:,} requests, "
            f"{self.tokens / self.of_tokens:.0%} of the tokens"
        )


def left_out(header: Mapping[str, Any]) -> LeftOut | None:
    """Return what a trace's header says was left out of the recorded trace behind it; None for a generated one.

    Raises:
        InputError: the header, written by hand, says it in another way.
    """
    try:
        return _left_out(header)
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(
            "a trace's header does not say rightly what was left out of it", remedy="make the trace again"
        ) from error


def _left_out(header: Mapping[str, Any]) -> LeftOut | None:
    window = header.get("parameters", {}).get("requests", {})
    if "left_out_requests" in window:
        reason = f"prompts above {window['longest_prompt_tokens']:,} tokens"
        own = (window["left_out_requests"], window["left_out_tokens"])
        return LeftOut(*own, window["trace_requests"], window["trace_tokens"], reason)
    if "screening" in header:
        return _screened(header["screening"]["counts"])
    return None


def _screened(counts: Mapping[str, Mapping[str, int]]) -> LeftOut:
    gone = {label.removeprefix(f"{EXCLUDED}: "): count for label, count in counts.items() if label.startswith(EXCLUDED)}

    def total(some: Mapping[str, Mapping[str, int]], what: str) -> int:
        return sum(count[what] for count in some.values())

    return LeftOut(
        total(gone, "requests"),
        total(gone, "prompt_tokens"),
        total(counts, "requests"),
        total(counts, "prompt_tokens"),
        "; ".join(gone) or "nothing",
    )


def describe_window(trace: Trace) -> str:
    """Say which window of an agent trace a trace is and what was left out; nothing for other traces."""
    window = trace.header.get("parameters", {}).get("requests", {})
    if "window" not in window:
        return ""
    return (
        f"window {window['window']} of {window['windows']}; timestamps {window['timestamps']}; {left_out(trace.header)}"
    )

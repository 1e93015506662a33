"""Arrival times: one unit-rate Poisson stream, time-changed by the rates of phases.

The stream is fixed per seed, so a higher rate moves arrivals closer together and never redraws them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairway.traces.streams import Float64Array, stream
from fairway.traces.trace import Int64Array

US_PER_S = 1_000_000
NS_PER_US = 1_000


@dataclass(frozen=True)
class PhaseSpan:
    """A stretch of time ``[start_us, end_us)`` with a constant arrival rate."""

    name: str
    start_us: int
    end_us: int
    rate_per_s: float

    @property
    def expected_arrivals(self) -> float:
        """Mean number of arrivals in the phase."""
        return (self.end_us - self.start_us) / US_PER_S * self.rate_per_s


def unit_arrivals(seed: int, until: float, stream_name: str = "arrivals") -> Float64Array:
    """Return the arrivals before ``until`` of a Poisson process of rate 1, increasing.

    A longer stream begins with the shorter one.
    """
    draws = 64
    while True:
        times = np.cumsum(stream(seed, stream_name).standard_exponential(draws))
        if times[-1] >= until:
            return times[times < until]
        draws *= 2


def phase_arrivals(seed: int, spans: Sequence[PhaseSpan]) -> tuple[Int64Array, list[str]]:
    """Return arrival times in ns, whole microseconds and not decreasing, and the phase of each.

    ``spans`` follow each other without a gap.
    """
    return time_change(unit_arrivals(seed, expected_arrivals(spans)), spans)


def expected_arrivals(spans: Sequence[PhaseSpan]) -> float:
    """Return the mean number of arrivals of all phases together."""
    return float(np.cumsum([span.expected_arrivals for span in spans])[-1])


def time_change(units: Float64Array, spans: Sequence[PhaseSpan]) -> tuple[Int64Array, list[str]]:
    """Map unit-rate times to times in ns, and name the phase that each falls into.

    A unit-rate time beyond the phases' expected number of arrivals belongs to none and must not be given.
    """
    ends = np.cumsum([span.expected_arrivals for span in spans])
    starts = np.concatenate([np.zeros(1), ends[:-1]])
    places = np.searchsorted(ends, units, side="right")
    rates = np.array([span.rate_per_s for span in spans])
    start_us = np.array([span.start_us for span in spans], dtype=np.int64)
    last_us = np.array([span.end_us - 1 for span in spans], dtype=np.int64)
    inside_us = np.floor((units - starts[places]) / rates[places] * US_PER_S).astype(np.int64)
    # Rounding may put the last arrival on the phase's end, which is no longer in it.
    arrival_us = np.minimum(start_us[places] + inside_us, last_us[places])
    return arrival_us * NS_PER_US, [spans[place].name for place in places.tolist()]

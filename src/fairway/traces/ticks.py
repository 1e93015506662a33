"""Quantised arrival times: finding the tick, and spreading arrivals within it.

Public traces stamp all requests of a few seconds alike. Left as they are, ticks are bursts, which favour policies that
reorder.
"""

from __future__ import annotations

import numpy as np

from fairway.traces.trace import Int64Array

_QUANTISED_SHARE = 0.9  # of the steps between different times, if there is a tick
_TOLERANCE = 0.01  # of a tick


def tick_ns(arrival_ns: Int64Array) -> int | None:
    """Return what the steps between different times are multiples of; times have shape (n,) and do not decrease.

    None if no two requests share a time, or if the steps are no multiples of anything. A few odd steps, such as those
    beside a stamp that is a millisecond early, do not count.
    """
    times_ns = np.unique(arrival_ns)
    if len(times_ns) == len(arrival_ns) or len(times_ns) < 2:
        return None
    steps_ns = np.diff(times_ns)
    short_ns = np.quantile(steps_ns, 0.05, method="inverted_cdf")
    ticks = np.maximum(1, np.rint(steps_ns / short_ns)).astype(np.int64)
    is_whole = np.abs(steps_ns - ticks * short_ns) <= _TOLERANCE * short_ns
    if is_whole.mean() < _QUANTISED_SHARE:
        return None
    return int(np.quantile(steps_ns // ticks, 0.5, method="inverted_cdf"))


def spread_within_ticks(arrival_ns: Int64Array, tick_ns: int, generator: np.random.Generator) -> Int64Array:
    """Spread requests of one time evenly at random over the tick that begins with it, in their given order.

    None moves past the next time that occurs, so the order of all requests stays.
    """
    times_ns, places = np.unique(arrival_ns, return_inverse=True)
    widths_ns = np.minimum(np.diff(times_ns, append=times_ns[-1] + tick_ns), tick_ns)
    uniforms = generator.random(len(arrival_ns))
    in_order = uniforms[np.lexsort((uniforms, places))]  # sorted within each time, times in their order
    return np.asarray(arrival_ns + np.floor(in_order * widths_ns[places]).astype(np.int64), dtype=np.int64)

"""Quantised arrival times: finding the tick, and spreading arrivals within it.

Public traces stamp all requests of a few seconds alike. Left as they are, ticks are bursts, which favour policies that
reorder.
"""

from __future__ import annotations

import numpy as np

from fairway.traces.trace import Int64Array


def tick_ns(arrival_ns: Int64Array) -> int | None:
    """Return the median step between different times, shape (n,), not decreasing; None if no two requests share a time.

    A median survives odd steps, such as a stamp that is a millisecond early.
    """
    times_ns = np.unique(arrival_ns)
    if len(times_ns) == len(arrival_ns) or len(times_ns) < 2:
        return None
    return int(np.quantile(np.diff(times_ns), 0.5, method="inverted_cdf"))


def spread_within_ticks(arrival_ns: Int64Array, tick_ns: int, generator: np.random.Generator) -> Int64Array:
    """Spread requests of one time evenly at random over the tick that begins with it, in their given order.

    None moves past the next time that occurs, so the order of all requests stays.
    """
    times_ns, places = np.unique(arrival_ns, return_inverse=True)
    widths_ns = np.minimum(np.diff(times_ns, append=times_ns[-1] + tick_ns), tick_ns)
    uniforms = generator.random(len(arrival_ns))
    in_order = uniforms[np.lexsort((uniforms, places))]  # sorted within each time, times in their order
    return np.asarray(arrival_ns + np.floor(in_order * widths_ns[places]).astype(np.int64), dtype=np.int64)

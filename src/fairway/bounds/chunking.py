"""The least time of a prefill alone on a device, over all ways to cut it into chunks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairway.profile import Profile
from fairway.profile.lone_chunks import LoneChunks

Int64Array = npt.NDArray[np.int64]


def least_times(n_tokens: Int64Array, free_tokens: Int64Array, profile: Profile, budget_tokens: int) -> Int64Array:
    """Return the least time, in ns, of each prompt of which the first ``free_tokens`` need not be computed.

    Exact, by dynamic programming over the context: the least time to a context is the least, over the size of the last
    chunk, of the least time to where that began and its own. A chunk may begin inside the free part, since a measured
    profile might make that cheaper. Cost: budget times the longest uncached part, for each number of free tokens.
    """
    chunks = LoneChunks(profile, budget_tokens)
    result = np.zeros(len(n_tokens), dtype=np.int64)
    for free in np.unique(free_tokens).tolist():
        chosen = free_tokens == free
        longest = int(n_tokens[chosen].max())
        result[chosen] = _least_times_from(free, longest, chunks)[n_tokens[chosen]]
    return result


def _least_times_from(free_tokens: int, longest: int, chunks: LoneChunks) -> Int64Array:
    """Return the least time to every context up to ``longest``: shape ``(longest + 1,)``."""
    least_ns = np.zeros(longest + 1, dtype=np.int64)
    for context in range(free_tokens + 1, longest + 1):
        last_ns = chunks.ns(context)
        began_at = context - 1 - np.arange(len(last_ns))
        least_ns[context] = (least_ns[began_at] + last_ns).min()
    return least_ns

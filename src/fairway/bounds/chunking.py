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
    profile might make that cheaper. Cost: budget times the longest prompt, for each number of free tokens; so prompts
    of many traces are best asked together.
    """
    free, group = np.unique(free_tokens, return_inverse=True)
    longest = np.zeros(len(free), dtype=np.int64)
    np.maximum.at(longest, group, n_tokens)
    return _least_times(free, longest, LoneChunks(profile, budget_tokens))[group, n_tokens]


def _least_times(free_tokens: Int64Array, longest: Int64Array, chunks: LoneChunks) -> Int64Array:
    """Return the least time to every context up to ``longest``, for each number of free tokens.

    Shape: (numbers of free tokens, the largest of ``longest`` + 1).
    """
    least_ns = np.zeros((len(free_tokens), int(longest.max()) + 1), dtype=np.int64)
    for context in range(int(free_tokens.min()) + 1, least_ns.shape[1]):
        asked = np.flatnonzero((free_tokens < context) & (context <= longest))
        if len(asked):
            last_ns = chunks.ns(context)
            to_its_begin_ns = least_ns[asked, context - len(last_ns) : context][:, ::-1]
            least_ns[asked, context] = (to_its_begin_ns + last_ns).min(axis=1)
    return least_ns

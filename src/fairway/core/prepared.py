"""What the core needs of a trace's prompts on a device: made once, replayed often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from fairway.core.blocks import Int64Array
from fairway.core.step_time import StepTimes, prefill_ns_of_each, step_times
from fairway.core.trie import Trie, build_trie
from fairway.engine import Limits
from fairway.profile import Profile
from fairway.traces import Trace


@dataclass(frozen=True, eq=False)
class Prepared:
    """Prompts as a trie, and their prefill times, whatever their arrivals and the size of the cache."""

    trie: Trie
    prompt_tokens: Int64Array  # (requests,)
    prefill_ns: Int64Array  # (requests,) T(n, 0)
    times: StepTimes

    @classmethod
    def of(cls, trace: Trace, profile: Profile, limits: Limits) -> Self:
        """Prepare a trace. Raises `InputError` where the block sizes of trace and engine do not divide."""
        times = step_times(profile, limits.budget_tokens)
        lengths, places = np.unique(trace.prompt_tokens, return_inverse=True)
        return cls(
            trie=build_trie(trace, limits.block_tokens),
            prompt_tokens=trace.prompt_tokens,
            prefill_ns=prefill_ns_of_each(times, lengths)[places],
            times=times,
        )

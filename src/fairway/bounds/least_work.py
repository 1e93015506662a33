"""The least that must be computed and the least that this takes, for each request of a trace, by any policy.

Both suppose a cache that never forgets and that already holds, when a request starts, every block that it shares with
any other request of the trace, earlier or later. So they lie far below what an engine can reach.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain as concatenated

import numpy as np
import numpy.typing as npt

from fairway.bounds.chunking import least_times
from fairway.profile import Profile
from fairway.traces import Trace, chains

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LeastWork:
    """Arrays over a trace's requests."""

    free_tokens: Int64Array  # of the prompt, a prefix that others share; at least one token is always computed
    size_ns: Int64Array  # the other tokens times the profile's lowest time a token: what they take of a shared device
    least_ns: Int64Array  # what they take alone on an idle device, in the best chunks


def least_work(trace: Trace, profile: Profile, budget_tokens: int, block_tokens: int) -> LeastWork:
    """Return the least work of every request of a trace; see `least_works`."""
    return least_works([trace], profile, budget_tokens, block_tokens)[0]


def least_works(traces: Sequence[Trace], profile: Profile, budget_tokens: int, block_tokens: int) -> list[LeastWork]:
    """Return the least work of every request of each trace; what is asked of one profile is found once for all.

    A step computes at most ``budget_tokens``. ``InputError`` if ``block_tokens`` and a trace's blocks do not divide.
    """
    ends = np.cumsum([len(trace) for trace in traces])[:-1]
    free_tokens = np.concatenate([shared_tokens(trace, block_tokens) for trace in traces])
    n_tokens = np.concatenate([trace.prompt_tokens for trace in traces])
    per_token = lowest_ns_per_token(profile, budget_tokens)
    sizes = [tokens * per_token.numerator // per_token.denominator for tokens in (n_tokens - free_tokens).tolist()]
    columns = (
        free_tokens,
        np.array(sizes, dtype=np.int64),
        least_times(n_tokens, free_tokens, profile, budget_tokens),
    )
    return [LeastWork(*parts) for parts in zip(*(np.split(column, ends) for column in columns), strict=True)]


def shared_tokens(trace: Trace, block_tokens: int) -> Int64Array:
    """Return how many leading tokens of each prompt, but never all, lie in blocks that another request has."""
    prompts = chains(trace, block_tokens)
    owners = Counter(concatenated.from_iterable(prompts))
    most_blocks = ((trace.prompt_tokens - 1) // block_tokens).tolist()
    shared = [
        min(most, sum(owners[block] > 1 for block in prompt)) for prompt, most in zip(prompts, most_blocks, strict=True)
    ]  # an id stands for a block and all before it: the shared ones are a prefix
    return np.array(shared, dtype=np.int64) * block_tokens


def lowest_ns_per_token(profile: Profile, budget_tokens: int) -> Fraction:
    """Return the profile's lowest time a token in a step, however its tokens are spread over requests.

    Attention only adds to the linear part, and by more the more context there is; the linear part alone is below any
    step's time.
    """
    return min(Fraction(profile.least_step_ns(new_tokens), new_tokens) for new_tokens in range(1, budget_tokens + 1))

"""What corpora are compared by: lengths, sharing and popularity, and the distance between two distributions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from fairway.traces.chains import chains
from fairway.traces.streams import Float64Array
from fairway.traces.trace import Int64Array, Trace

ENGINE_BLOCK_TOKENS = 16


def hit_shares(trace: Trace) -> Float64Array:
    """Return, shape (n,), the share of each prompt that a cache without bound would have from the requests before."""
    seen: set[int] = set()
    hit_blocks = []
    for blocks in chains(trace, ENGINE_BLOCK_TOKENS):
        hit_blocks.append(leading(blocks, seen))
        seen.update(blocks)
    return np.asarray(np.array(hit_blocks) * ENGINE_BLOCK_TOKENS / trace.prompt_tokens)


def uses(numbers: Iterable[int]) -> Int64Array:
    """Return how often each number occurs that does."""
    return np.array(list(Counter(numbers).values()), dtype=np.int64)


def kolmogorov_smirnov(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return the largest difference between the shares of two samples at or below any value."""
    samples = [np.sort(np.asarray(sample)) for sample in (first, second)]
    points = np.concatenate(samples)
    shares = [np.searchsorted(sample, points, side="right") / len(sample) for sample in samples]
    return float(np.abs(shares[0] - shares[1]).max())


def leading(blocks: Sequence[int], seen: Container[int]) -> int:
    """Return how many leading blocks are among those seen."""
    return next((place for place, block in enumerate(blocks) if block not in seen), len(blocks))

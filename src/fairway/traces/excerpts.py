"""Excerpt lists: what a retriever would return for a question about a filing, in its fixed order."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fairway.errors import InputError
from fairway.traces.filings import Filings
from fairway.traces.streams import stream

LONGEST_LIST = 31  # 31 excerpts of 512 tokens, a system prompt and a question stay below 16,384 tokens


class Excerpt(NamedTuple):
    """One chunk of one filing."""

    filing: int
    chunk: int


@lru_cache(maxsize=8)
def excerpt_lists(corpus: Filings, count: int) -> tuple[tuple[Excerpt, ...], ...]:
    """Return ``count`` lists of up to 31 excerpts, one of each filing in turn; they depend on the corpus alone.

    A filing's lists are disjoint while its chunks last; then its excerpts recur in another order behind a different
    first one, so lists share no prefix.

    Raises:
        InputError: a filing has too few chunks for so many different first excerpts.
    """
    filings = len(corpus.filing_tokens)
    by_filing = [_lists_of_filing(corpus, filing, -(-(count - filing) // filings)) for filing in range(filings)]
    return tuple(by_filing[unit % filings][unit // filings] for unit in range(count))


def _lists_of_filing(corpus: Filings, filing: int, count: int) -> list[tuple[Excerpt, ...]]:
    chunks = corpus.chunks(filing)
    if count > chunks:
        raise InputError(
            f"filing {filing} has {chunks} chunks, too few for {count} excerpt lists that begin differently",
            remedy="ask for fewer units, or use a larger corpus",
        )
    rng = stream(corpus.seed, f"excerpts of filing {filing}")
    size = min(LONGEST_LIST, chunks)
    order = rng.permutation(chunks).tolist()
    orders = [order[start : start + size] for start in range(0, chunks - size + 1, size)][:count]
    while len(orders) < count:
        orders.append(_recurring(rng, chunks, {other[0] for other in orders})[:size])
    return [tuple(Excerpt(filing, chunk) for chunk in chosen) for chosen in orders]


def _recurring(rng: np.random.Generator, chunks: int, used_firsts: set[int]) -> list[int]:
    """Return all chunks in a new order, with a first one that no list begins with yet."""
    order: list[int] = rng.permutation(chunks).tolist()
    first = next(chunk for chunk in order if chunk not in used_firsts)
    order.remove(first)
    return [first, *order]

"""Makes a case that shows a difference as small as it gets: a smaller cache, fewer requests, simpler ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from fairway.parity.case import BLOCK_TOKENS, Arrival, Case

Differs = Callable[[Case], bool]


def shrink(case: Case, differs: Differs) -> Case:
    """Return a case for which ``differs`` still holds and no single simplification of which it does.

    Delta debugging (Zeller and Hildebrandt, IEEE TSE 28(2), 2002) over the requests, then over their fields. Costs
    some hundred calls of ``differs``.
    """
    while True:
        smaller = _simplify(_drop_requests(_tighten(case, differs), differs), differs)
        if smaller == case:
            return _renumber(case)
        case = smaller


def _tighten(case: Case, differs: Differs) -> Case:
    """Make the cache smaller: fewer requests then fill it."""
    while True:
        blocks = case.limits.cache_blocks
        sizes = sorted({size for size in (blocks // 2, blocks * 3 // 4, blocks - 1) if 2 <= size < blocks})
        candidates = (replace(case, limits=replace(case.limits, cache_blocks=size)) for size in sizes)
        smaller = next(filter(differs, candidates), None)
        if smaller is None:
            return case
        case = smaller


def _drop_requests(case: Case, differs: Differs) -> Case:
    """Drop runs of requests, halves first, then ever shorter ones down to single requests."""
    length = len(case.arrivals) // 2
    while length >= 1:
        case = _drop_runs(case, length, differs)
        length //= 2
    return case


def _drop_runs(case: Case, length: int, differs: Differs) -> Case:
    start = 0
    while start < len(case.arrivals):
        left = replace(case, arrivals=case.arrivals[:start] + case.arrivals[start + length :])
        if left.arrivals and differs(left):
            case = left
        else:
            start += length
    return case


def _simplify(case: Case, differs: Differs) -> Case:
    """Try each simpler form of each request, and keep those that still differ."""
    for place in range(len(case.arrivals)):
        for simpler in _simpler(case, place):
            arrivals = (*case.arrivals[:place], simpler, *case.arrivals[place + 1 :])
            candidate = replace(case, arrivals=arrivals)
            if differs(candidate):
                case = candidate
                break
    return case


def _simpler(case: Case, place: int) -> Iterator[Arrival]:
    """Yield simpler forms of one request, the simplest first; arrivals stay in order."""
    one = case.arrivals[place]
    if one.abort_us is not None:
        yield one._replace(abort_us=None)
    for output_tokens in sorted({1, one.output_tokens // 2, one.output_tokens - 1}):
        if 1 <= output_tokens < one.output_tokens:
            yield one._replace(output_tokens=output_tokens)
    blocks = len(one.block_ids)
    for kept in sorted({1, blocks // 2, blocks - 1}):
        if 1 <= kept < blocks:
            yield one._replace(prompt_tokens=kept * BLOCK_TOKENS, block_ids=one.block_ids[:kept])
    if one.prompt_tokens % BLOCK_TOKENS:
        yield one._replace(prompt_tokens=blocks * BLOCK_TOKENS)
    earliest_us = case.arrivals[place - 1].arrival_us if place else 0
    if one.arrival_us > earliest_us:
        yield one._replace(arrival_us=earliest_us)


def _renumber(case: Case) -> Case:
    """Give blocks the ids 0, 1, 2, ... in order of appearance: equal stays equal."""
    new_id: dict[int, int] = {}
    arrivals = [
        one._replace(block_ids=tuple(new_id.setdefault(block_id, len(new_id)) for block_id in one.block_ids))
        for one in case.arrivals
    ]
    return replace(case, arrivals=tuple(arrivals))

"""Questions about SEC filings: the fixed request sequence that phases consume."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairway.traces.corpus import Corpus
from fairway.traces.excerpts import LONGEST_LIST, Excerpt, excerpt_lists
from fairway.traces.prompts import Request, Segment
from fairway.traces.streams import scale_to_integers, stream
from fairway.traces.trace import Int64Array
from fairway.traces.workload import SecContent

USUAL, FEWER, DEEPER = "usual", "fewer", "deeper"
WEIGHT_ONE = 2**40  # popularity in integers: the last digit of a power may differ between machines


def sec_requests(content: SecContent, corpus: Corpus, seed: int, count: int) -> list[Request]:
    """Return the first ``count`` requests of the seed's sequence; a longer one begins with a shorter one.

    Which units are popular and how many excerpts each usually takes is drawn anew for each seed.

    Raises:
        InputError: the corpus is too small for so many units.
    """
    lists = excerpt_lists(corpus, content.units)
    usual = _usual_excerpts(content, lists, seed)
    units = _asked_units(content, seed, count)
    kinds = _kinds(content, seed, count)
    depths = _depths(kinds, usual[units], seed)
    own = _own_excerpts(content, kinds, depths, seed)
    questions = scale_to_integers(
        stream(seed, "question lengths").random(count), content.question_tokens.lowest, content.question_tokens.highest
    )
    chunk_tokens = corpus.chunk_tokens
    columns = zip(kinds, units.tolist(), depths.tolist(), own.tolist(), questions.tolist(), strict=True)
    return [
        Request(
            kind,
            (
                system_prompt(content.system_tokens),
                *excerpt_segments(lists[unit][:depth], chunk_tokens),
                *(Segment(("own", request, place), chunk_tokens) for place in range(own_count)),
                Segment(("question", request), question_tokens),
            ),
        )
        for request, (kind, unit, depth, own_count, question_tokens) in enumerate(columns)
    ]


def system_prompt(tokens: int) -> Segment:
    """Return the beginning that all prompts share."""
    return Segment(("system",), tokens)


def excerpt_segments(excerpts: Sequence[Excerpt], chunk_tokens: int) -> list[Segment]:
    """Return excerpts as parts of a prompt."""
    return [Segment(("excerpt", *excerpt), chunk_tokens) for excerpt in excerpts]


def zipf_ranks(exponent: float, ranks: int, seed: int, count: int) -> Int64Array:
    """Draw, shape (count,), ranks from 0 on, rank ``r`` with a probability proportional to ``(r + 1) ** -exponent``."""
    weights = [max(1, round(WEIGHT_ONE * (rank + 1) ** -exponent)) for rank in range(ranks)]
    ends = np.cumsum(weights, dtype=np.int64)
    drawn = scale_to_integers(stream(seed, "popularity").random(count), 0, int(ends[-1]) - 1)
    return np.asarray(np.searchsorted(ends, drawn, side="right"), dtype=np.int64)


def _usual_excerpts(content: SecContent, lists: Sequence[tuple[Excerpt, ...]], seed: int) -> Int64Array:
    """Return the usual number of excerpts of each unit, at most what its list has."""
    uniforms = stream(seed, "usual excerpts").random(content.units)
    usual = scale_to_integers(uniforms, content.usual_excerpts.lowest, content.usual_excerpts.highest)
    return np.minimum(usual, [len(excerpts) for excerpts in lists])


def _asked_units(content: SecContent, seed: int, count: int) -> Int64Array:
    unit_of_rank = stream(seed, "popular units").permutation(content.units)
    ranks = zipf_ranks(content.popularity_exponent, content.units, seed, count)
    return np.asarray(unit_of_rank[ranks], dtype=np.int64)


def _kinds(content: SecContent, seed: int, count: int) -> list[str]:
    uniforms = stream(seed, "kinds").random(count)
    bounds = [content.usual_share, content.usual_share + content.fewer_share]
    return [(USUAL, FEWER, DEEPER)[place] for place in np.searchsorted(bounds, uniforms, side="right").tolist()]


def _depths(kinds: Sequence[str], usual: Int64Array, seed: int) -> Int64Array:
    """Return how many of the unit's excerpts each request takes; a unit with one excerpt has no fewer."""
    uniforms = stream(seed, "fewer excerpts").random(len(kinds))
    fewer = scale_to_integers(uniforms, 1, np.maximum(usual - 1, 1))
    return np.where(np.array(kinds) == FEWER, fewer, usual)


def _own_excerpts(content: SecContent, kinds: Sequence[str], depths: Int64Array, seed: int) -> Int64Array:
    """Return how many excerpts of its own each request adds, so that no prompt has more than 31."""
    uniforms = stream(seed, "own excerpts").random(len(kinds))
    own = scale_to_integers(uniforms, content.own_excerpts.lowest, content.own_excerpts.highest)
    return np.where(np.array(kinds) == DEEPER, np.minimum(own, LONGEST_LIST - depths), 0)

"""Questions about SEC filings: the fixed request sequence that phases consume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fairway.traces.corpus import Corpus, as_kind
from fairway.traces.draws import Draws, zipf_ranks
from fairway.traces.excerpts import LONGEST_LIST, Excerpt, excerpt_lists
from fairway.traces.filings import Filings
from fairway.traces.prompts import Request, Segment, system_prompt
from fairway.traces.ranges import Range
from fairway.traces.source import RequestSource
from fairway.traces.streams import scale_to_integers
from fairway.traces.trace import Int64Array

USUAL, FEWER, DEEPER = "usual", "fewer", "deeper"


@dataclass(frozen=True)
class ShallowUnits:
    """Some of the units usually take another number of excerpts."""

    share: float
    usual_excerpts: Range

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(f"share is {self.share}")


@dataclass(frozen=True)
class SecContent(RequestSource):
    """Questions about units, each an excerpt list of a filing with a usual number of excerpts."""

    corpus: ClassVar[str] = "sec"

    kind: Literal["sec"]
    units: int
    popularity_exponent: float  # Zipf over units
    system_tokens: int  # 0 for none
    question_tokens: Range
    usual_excerpts: Range  # uniform over units
    usual_share: float  # of questions that take the unit's usual number of excerpts
    fewer_share: float  # of questions that take 1 to one less; the rest takes some of their own behind
    own_excerpts: Range
    shallow_units: ShallowUnits | None = None

    def __post_init__(self) -> None:
        if self.units < 1 or self.system_tokens < 0:
            raise ValueError("units must be at least 1, system_tokens at least 0")
        if not 0.0 <= self.popularity_exponent <= 10.0:
            raise ValueError(f"popularity_exponent is {self.popularity_exponent}")
        if not (self.usual_share >= 0 and self.fewer_share >= 0 and self.usual_share + self.fewer_share <= 1):
            raise ValueError("usual_share and fewer_share must be shares whose sum is at most 1")
        if self.usual_excerpts.highest > LONGEST_LIST:
            raise ValueError(f"usual_excerpts is above {LONGEST_LIST}, the longest excerpt list")

    def requests(self, corpus: Corpus, draws: Draws, count: int) -> list[Request]:
        """Return the first ``count`` requests of a sequence about the corpus's first units."""
        return sec_requests(self, as_kind(Filings, corpus), draws, count)


def sec_requests(content: SecContent, filings: Filings, draws: Draws, count: int, first_unit: int = 0) -> list[Request]:
    """Return the first ``count`` requests of a sequence; a longer one begins with a shorter one.

    Which units are popular and how many excerpts each usually takes is drawn anew for each seed. The units are the
    corpus's excerpt lists from ``first_unit`` on.

    Raises:
        InputError: the corpus is too small for so many units.
    """
    lists = excerpt_lists(filings, first_unit + content.units)[first_unit:]
    usual = _usual_excerpts(content, lists, draws)
    units = _asked_units(content, draws, count)
    kinds = _kinds(content, draws, count)
    depths = _depths(kinds, usual[units], draws)
    own = _own_excerpts(content, kinds, depths, draws)
    questions = content.question_tokens.scale(draws.of_requests("question lengths").random(count))
    chunk_tokens = filings.chunk_tokens
    columns = zip(kinds, units.tolist(), depths.tolist(), own.tolist(), questions.tolist(), strict=True)
    return [
        Request(
            kind,
            (
                system_prompt(content.system_tokens),
                *excerpt_segments(lists[unit][:depth], chunk_tokens),
                *(Segment(("own", draws.sequence, request, place), chunk_tokens) for place in range(own_count)),
                Segment(("question", draws.sequence, request), question_tokens),
            ),
        )
        for request, (kind, unit, depth, own_count, question_tokens) in enumerate(columns)
    ]


def excerpt_segments(excerpts: Sequence[Excerpt], chunk_tokens: int) -> list[Segment]:
    """Return excerpts as parts of a prompt."""
    return [Segment(("excerpt", *excerpt), chunk_tokens) for excerpt in excerpts]


def _usual_excerpts(content: SecContent, lists: Sequence[tuple[Excerpt, ...]], draws: Draws) -> Int64Array:
    """Return the usual number of excerpts of each unit, at most what its list has."""
    uniforms = draws.of_units("usual excerpts").random(content.units)
    usual = content.usual_excerpts.scale(uniforms)
    if content.shallow_units is not None:
        count = round(content.shallow_units.share * content.units)
        shallow = draws.of_units("shallow units").permutation(content.units)[:count]
        usual[shallow] = content.shallow_units.usual_excerpts.scale(uniforms[shallow])
    return np.minimum(usual, [len(excerpts) for excerpts in lists])


def _asked_units(content: SecContent, draws: Draws, count: int) -> Int64Array:
    unit_of_rank = draws.of_units("popular units").permutation(content.units)
    exponent = content.popularity_exponent + draws.added_exponent
    ranks = zipf_ranks(exponent, content.units, draws.of_requests("popularity"), count)
    return np.asarray(unit_of_rank[ranks], dtype=np.int64)


def _kinds(content: SecContent, draws: Draws, count: int) -> list[str]:
    uniforms = draws.of_requests("kinds").random(count)
    bounds = [content.usual_share, content.usual_share + content.fewer_share]
    return [(USUAL, FEWER, DEEPER)[place] for place in np.searchsorted(bounds, uniforms, side="right").tolist()]


def _depths(kinds: Sequence[str], usual: Int64Array, draws: Draws) -> Int64Array:
    """Return how many of the unit's excerpts each request takes; a unit with one excerpt has no fewer."""
    uniforms = draws.of_requests("fewer excerpts").random(len(kinds))
    fewer = scale_to_integers(uniforms, 1, np.maximum(usual - 1, 1))
    return np.where(np.array(kinds) == FEWER, fewer, usual)


def _own_excerpts(content: SecContent, kinds: Sequence[str], depths: Int64Array, draws: Draws) -> Int64Array:
    """Return how many excerpts of its own each request adds, so that no prompt has more than 31."""
    own = content.own_excerpts.scale(draws.of_requests("own excerpts").random(len(kinds)))
    return np.where(np.array(kinds) == DEEPER, np.minimum(own, LONGEST_LIST - depths), 0)

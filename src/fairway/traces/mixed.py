"""A mix of questions about filings: short and long ones, each kind with its own units and popularity."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, Literal

import numpy as np

from fairway.traces.corpus import Corpus, as_kind
from fairway.traces.draws import Draws
from fairway.traces.filings import Filings
from fairway.traces.prompts import Request
from fairway.traces.sec import SecContent, sec_requests
from fairway.traces.source import RequestSource


@dataclass(frozen=True)
class Part:
    """One kind of question; its requests carry the part's name as their kind."""

    name: str
    share: float  # of requests
    content: SecContent

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(f"share is {self.share}")


@dataclass(frozen=True)
class MixedContent(RequestSource):
    """Requests of several parts, each request of one of them by chance."""

    corpus: ClassVar[str] = "sec"

    kind: Literal["mixed"]
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        if len({part.name for part in self.parts}) < max(2, len(self.parts)):
            raise ValueError("a mix has at least two parts, each with a name of its own")
        if abs(sum(part.share for part in self.parts) - 1) > 1e-9:
            raise ValueError("the parts' shares do not sum up to 1")

    def requests(self, corpus: Corpus, draws: Draws, count: int) -> list[Request]:
        """Return the first ``count`` requests of a sequence; every part's own sequence is consumed in turn."""
        filings = as_kind(Filings, corpus)
        bounds = list(accumulate(part.share for part in self.parts[:-1]))
        places = np.searchsorted(bounds, draws.of_requests("parts").random(count), side="right").tolist()
        counts = Counter(places)
        first_units = accumulate((part.content.units for part in self.parts[:-1]), initial=0)
        sequences = [
            iter(
                sec_requests(
                    part.content,
                    filings,
                    Draws(draws.seed, draws.added_exponent, part.name),
                    counts[place],
                    first_unit,
                )
            )
            for place, (part, first_unit) in enumerate(zip(self.parts, first_units, strict=True))
        ]
        return [next(sequences[place])._replace(kind=self.parts[place].name) for place in places]

"""Where a workload's requests come from: the contract of its content."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from fairway.traces.arrivals import unit_arrivals
from fairway.traces.corpus import Corpus
from fairway.traces.draws import Draws
from fairway.traces.prompts import Request
from fairway.traces.streams import Float64Array


class RequestSource(ABC):
    """A fixed sequence of requests for each seed, and when they arrive at a mean rate of 1."""

    corpus: ClassVar[str]  # name of the corpus that it needs
    has_popularity: ClassVar[bool] = True  # whether a second sequence can be more concentrated

    @abstractmethod
    def requests(self, corpus: Corpus, draws: Draws, count: int) -> list[Request]:
        """Return the first ``count`` requests of a sequence; a longer one begins with a shorter one.

        Raises:
            InputError: the corpus is of another kind, or too small.
        """

    def unit_arrivals(self, corpus: Corpus, seed: int, expected: float) -> Float64Array:
        """Return increasing times from 0 to below ``expected``, about as many: a Poisson process unless overridden."""
        return unit_arrivals(seed, expected)

    def recorded(self, corpus: Corpus, seed: int) -> int | None:
        """Return how many requests a seed has if they are recorded; None if they never end."""
        return None

    def provenance(self, corpus: Corpus, seed: int) -> dict[str, Any]:
        """Return what a trace's header is to say of this seed's requests, beyond the settings."""
        return {}

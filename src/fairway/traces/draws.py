"""The random numbers of a request sequence, and Zipf popularity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairway.traces.streams import scale_to_integers, stream
from fairway.traces.trace import Int64Array

WEIGHT_ONE = 2**40  # popularity in integers: the last digit of a power may differ between machines


@dataclass(frozen=True)
class Draws:
    """One seed's random numbers for one request sequence.

    A workload whose spike asks about fewer things has a second sequence with ``added_exponent``: the same units are
    popular in both, the requests are different ones. ``part`` keeps the parts of a mix apart.
    """

    seed: int
    added_exponent: float = 0.0
    part: str = ""

    @property
    def sequence(self) -> str:
        """What tells a request of this sequence from one of another part or sequence."""
        return ": ".join(filter(None, [self.part, "second sequence" if self.added_exponent else ""]))

    def of_units(self, purpose: str) -> np.random.Generator:
        """Return the generator of one purpose that both sequences share."""
        return stream(self.seed, _joined(self.part, purpose))

    def of_requests(self, purpose: str) -> np.random.Generator:
        """Return the generator of one purpose of this sequence alone."""
        return stream(self.seed, _joined(self.sequence, purpose))


def zipf_ranks(exponent: float, ranks: int, generator: np.random.Generator, count: int) -> Int64Array:
    """Draw, shape (count,), ranks from 0 on, rank ``r`` with a probability proportional to ``(r + 1) ** -exponent``."""
    weights = [max(1, round(WEIGHT_ONE * (rank + 1) ** -exponent)) for rank in range(ranks)]
    ends = np.cumsum(weights, dtype=np.int64)
    drawn = scale_to_integers(generator.random(count), 0, int(ends[-1]) - 1)
    return np.asarray(np.searchsorted(ends, drawn, side="right"), dtype=np.int64)


def _joined(prefix: str, purpose: str) -> str:
    return f"{prefix}: {purpose}" if prefix else purpose

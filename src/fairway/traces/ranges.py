"""Ranges of whole numbers, as settings files give them."""

from __future__ import annotations

from dataclasses import dataclass

from fairway.traces.streams import Float64Array, scale_to_integers
from fairway.traces.trace import Int64Array


@dataclass(frozen=True)
class Range:
    """Whole numbers ``lowest..highest``, both included, each as likely."""

    lowest: int
    highest: int

    def __post_init__(self) -> None:
        if not 1 <= self.lowest <= self.highest:
            raise ValueError(f"{self.lowest}..{self.highest} is not a range of positive numbers")

    def scale(self, uniforms: Float64Array) -> Int64Array:
        """Turn uniform numbers of [0, 1) into numbers of this range, one each."""
        return scale_to_integers(uniforms, self.lowest, self.highest)

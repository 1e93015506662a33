"""A set of small numbers that is an array at any time."""

from __future__ import annotations

from array import array
from typing import Self

import numpy as np
import numpy.typing as npt


class SlotSet:
    """Slots of requests. Adding and removing one costs the same however many there are.

    Most sets begin with one slot and never get another; only a second one makes an array.
    """

    __slots__ = ("_only", "_place", "_slots")

    def __init__(self, slot: int | None = None) -> None:
        self._only = slot
        if slot is None:
            self._slots, self._place = array("q"), dict[int, int]()

    def __len__(self) -> int:
        return len(self._slots) if self._only is None else 1

    def add(self, slot: int) -> None:
        """Take a slot in that is not here."""
        if self._only is not None:
            self._slots = array("q", (self._only,))
            self._place = {self._only: 0}  # of each slot in the array
            self._only = None
        self._place[slot] = len(self._slots)
        self._slots.append(slot)

    def remove(self, slot: int) -> None:
        """Take out one of several slots; the last one moves to its place."""
        place = self._place.pop(slot)
        last = self._slots.pop()
        if last != slot:
            self._slots[place] = last
            self._place[last] = place

    def any(self) -> int:
        """Return one of the slots."""
        return self._slots[0] if self._only is None else self._only

    def copy(self) -> Self:
        """Return another set of the same slots."""
        twin = type(self)(self._only)
        if self._only is None:
            twin._slots = self._slots[:]
            twin._place = self._place.copy()
        return twin

    def as_array(self) -> npt.NDArray[np.int64]:
        """Return the slots, shape ``(len(self),)``, in no particular order; to be let go of before the next change."""
        return np.frombuffer(self._slots if self._only is None else array("q", (self._only,)), dtype=np.int64)

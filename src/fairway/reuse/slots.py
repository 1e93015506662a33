"""A set of small numbers that is an array at any time."""

from __future__ import annotations

from array import array
from typing import Self

import numpy as np
import numpy.typing as npt


class SlotSet:
    """Slots of requests. Adding and removing one costs the same however many there are."""

    __slots__ = ("_place", "_slots")

    def __init__(self) -> None:
        self._slots = array("q")
        self._place: dict[int, int] = {}  # of each slot in the array

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, slot: int) -> bool:
        return slot in self._place

    def add(self, slot: int) -> None:
        """Take a slot in that is not here."""
        self._place[slot] = len(self._slots)
        self._slots.append(slot)

    def remove(self, slot: int) -> None:
        """Take a slot out; the last one moves to its place."""
        place = self._place.pop(slot)
        last = self._slots.pop()
        if last != slot:
            self._slots[place] = last
            self._place[last] = place

    def any(self) -> int:
        """Return one of the slots."""
        return self._slots[0]

    def copy(self) -> Self:
        """Return another set of the same slots."""
        twin = type(self)()
        twin._slots = self._slots[:]
        twin._place = self._place.copy()
        return twin

    def as_array(self) -> npt.NDArray[np.int64]:
        """Return the slots, shape ``(len(self),)``, in no particular order; to be let go of before the next change."""
        return np.frombuffer(self._slots, dtype=np.int64)

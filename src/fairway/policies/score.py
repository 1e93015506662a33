"""A score: one scalar function of a request's columns, written once for every engine.

It is written with arithmetic and numpy's ufuncs only. So the same function is read as the definition, applied to the
columns of a whole queue, and compiled for one request at a time, with the same IEEE results in each use.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fairway.policies.base import QueueView

ScoreFunction = Callable[..., Any]


@dataclass(frozen=True)
class Score:
    """A score function with its constants; the higher score runs first.

    The function's leading arguments are named after columns of `QueueView`, the last ``len(constants)`` ones take the
    constants in order.
    """

    function: ScoreFunction
    constants: tuple[int | float, ...] = ()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the function reads, in the order of its arguments."""
        names = tuple(inspect.signature(self.function).parameters)
        return names[: len(names) - len(self.constants)]

    def of(self, view: QueueView) -> npt.NDArray[Any]:
        """Return the score of every request of ``view``, shape ``(len(view),)``."""
        columns = [getattr(view, name) for name in self.columns]
        return np.asarray(self.function(*columns, *self.constants))

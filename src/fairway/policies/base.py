"""The contract of a policy: what it sees, what it answers, what else it may ask an engine for.

At every hook, which is before every step that finds requests waiting, an engine does this, in this order: it brings
hits up to date, makes one view, calls `Policy.on_hook` once (if declared), and then asks for an order of that view, and
for the victim rank (if declared), as often as anybody wants to know. Only the ``on_`` methods change a policy: whatever
outlives a step (what was seen first, where a pointer stands, the last order) is kept there, so that asking for an order
twice at one hook gives the same order twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]


@dataclass(eq=False)
class QueueView:
    """The waiting queue just before a step: one array per column, requests in order of (arrival, id). To be read only.

    Hits are those of this instant, before any running request is extended. A preempted request keeps its first arrival;
    its ``n_tokens`` then includes what it had generated, since that is computed again.
    """

    now_ns: int
    arrival_ns: Int64Array
    n_tokens: Int64Array  # tokens to have in the cache before the next token comes out; the prompt's length
    hit_tokens: Int64Array  # of these, a cached prefix right now
    prefill_ns: Int64Array  # T(n, 0) of the prompt on an idle device
    head_id: Int64Array  # equal for equal first 32 tokens
    request_id: Int64Array  # what `Policy.on_admit` names; the same for a request at every hook
    remaining_ns: Int64Array | None = None  # T(n, h); only for a policy that declares the column, since it costs

    def __len__(self) -> int:
        return len(self.arrival_ns)

    @cached_property
    def uncached_tokens(self) -> Int64Array:
        """``c = n - h``, the tokens that still have to be computed."""
        return self.n_tokens - self.hit_tokens

    @property
    def wait_ns(self) -> Int64Array:
        """How long each request has waited since its arrival."""
        return self.now_ns - self.arrival_ns


class Column(Enum):
    """What a policy reads beyond arrivals and lengths, and what an engine therefore has to keep up to date."""

    HIT_TOKENS = "hit_tokens"
    REMAINING_NS = "remaining_ns"

    __hash__ = object.__hash__  # Enum's own costs a call in Python, and sets of these are asked in every step


class Capability(Enum):
    """What a policy asks of an engine beyond an order. An engine refuses, by name, what it does not support."""

    ON_ARRIVAL = "on_arrival"
    ON_HOOK = "on_hook"
    ON_ADMIT = "on_admit"
    ON_STEP = "on_step"
    VICTIM_RANK = "victim_rank"
    RUNNING_CAP = "running_cap"

    __hash__ = object.__hash__  # as above


class Policy(ABC):
    """Orders the waiting queue before a step. One instance serves one engine: it may count what it was told."""

    columns: ClassVar[frozenset[Column]] = frozenset({Column.HIT_TOKENS})
    capabilities: ClassVar[frozenset[Capability]] = frozenset()
    name: str = ""  # as registered; set by the registry

    @abstractmethod
    def order(self, view: QueueView) -> Iterator[int]:
        """Yield positions of ``view``, first to run first, lazily and each at most once.

        What is left out is not admitted in this step. Asking for an order changes nothing in the policy.
        """

    def on_arrival(self, request_id: int) -> None:
        """Hear of a new request (capability ``ON_ARRIVAL``)."""

    def on_hook(self, view: QueueView) -> None:
        """Hear that a hook happens (capability ``ON_HOOK``): once a hook, before its order is asked for.

        A hook has at least one request waiting.
        """

    def victim_rank(self, view: QueueView) -> Sequence[int]:
        """Return the positions whose cached prefixes the cache gives up last in this step (``VICTIM_RANK``).

        The most precious comes first. A block inside none of these prefixes goes before any inside one; of those, the
        block whose best position is the worst goes first; else the least recently used. Changes nothing.
        """
        return ()

    def on_admit(self, request_id: int) -> None:
        """Hear of an admitted request (capability ``ON_ADMIT``)."""

    def on_step(self, executed_tokens: int) -> None:
        """Hear of a step's computed tokens (capability ``ON_STEP``)."""

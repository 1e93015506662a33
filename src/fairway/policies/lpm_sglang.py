"""Longest prefix match as SGLang ships it: siblings of a cold prefix wait, and long queues are left as they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fairway.policies.base import Capability, Column, Int64Array, Policy, QueueView
from fairway.policies.registry import register

HEAD_TOKENS = 32  # what `QueueView.head_id` stands for, SGLang's threshold of a match within the queue


@dataclass(frozen=True)
class SglangParameters:
    """SGLang's two constants: up to where a hit counts as cold, and up to where a queue is sorted."""

    cold_hit_tokens: int = 32
    most_sorted: int = 128

    def __post_init__(self) -> None:
        for name in ("cold_hit_tokens", "most_sorted"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"{name} must be a whole number from 0 on, not {value!r}")


class LpmSglang(Policy):
    """Order a list of requests that lives on from hook to hook, as SGLang's waiting queue does.

    New requests join the list's end, by arrival. Up to ``most_sorted`` requests: in the list's order, one whose hit is
    cold and whose first 32 tokens are those of a cold one before it goes to the back, since it could soon hit what that
    one computes; then a stable sort by hit, longest first. Above that number the list stays as it is. So ties go by
    place in the list, which is by arrival only until it was sorted once.

    Source: SGLang's ``schedule_policy.py``. It matches all tokens but the last of a prompt, hence no siblings among
    prompts of 32 tokens. Cost: one pass over the queue and a sort.
    """

    columns: ClassVar[frozenset[Column]] = frozenset({Column.HIT_TOKENS})
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.ON_HOOK})

    def __init__(self, **parameters: Any) -> None:
        self.parameters = SglangParameters(**parameters)
        self._place: dict[int, int] = {}  # request id -> place in the list

    def order(self, view: QueueView) -> Iterator[int]:
        """Yield positions in the list's new order."""
        queue = self._queue(view)
        if len(queue) > self.parameters.most_sorted:
            return iter(queue.tolist())
        key = np.where(self._waits_for_sibling(view, queue), 1, -view.hit_tokens[queue])
        return iter(queue[np.argsort(key, kind="stable")].tolist())

    def on_hook(self, view: QueueView) -> None:
        """Keep the new order."""
        ids = view.request_id.tolist()
        self._place = {ids[position]: place for place, position in enumerate(self.order(view))}

    def _queue(self, view: QueueView) -> Int64Array:
        """Return positions in the order of the list as it stands, new requests at its end."""
        place = self._place
        end = len(place)
        places = np.fromiter((place.get(one, end) for one in view.request_id.tolist()), np.int64, count=len(view))
        return np.argsort(places, kind="stable")

    def _waits_for_sibling(self, view: QueueView, queue: Int64Array) -> npt.NDArray[np.bool_]:
        """Return, along ``queue``, whether a request goes to the back: shape ``(len(queue),)``."""
        is_cold = (view.hit_tokens <= self.parameters.cold_hit_tokens) & (view.n_tokens > HEAD_TOKENS)
        passed: set[int] = set()
        waits = np.zeros(len(queue), dtype=np.bool_)
        for place, position in enumerate(queue.tolist()):
            if not is_cold[position]:
                continue
            head = int(view.head_id[position])
            waits[place] = head in passed
            passed.add(head)
        return waits


register("lpm-sglang", LpmSglang)

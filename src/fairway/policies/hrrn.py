"""Highest response ratio next: the work done while a request waited, over the work that it needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from fairway.policies.base import Capability, Policy, QueueView
from fairway.policies.first_seen import FirstSeen
from fairway.policies.registry import register
from fairway.policies.rules import descending


def response_ratio(executed_tokens: Any, uncached_tokens: Any) -> Any:
    """Return ``executed / max(1, c)``, where ``executed`` counts since the first hook that saw the request."""
    return executed_tokens / np.maximum(1, uncached_tokens)


class Hrrn(Policy):
    """Order by response ratio, highest first, ties by arrival. Waiting is measured in tokens executed, not in seconds.

    Source: SGLang pull request 32911. Cost: one pass over the queue.
    """

    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.ON_HOOK, Capability.ON_STEP})

    def __init__(self) -> None:
        self._executed_tokens = 0
        self._executed_at_first_hook = FirstSeen()

    def order(self, view: QueueView) -> Iterator[int]:
        """Yield positions by falling response ratio."""
        executed_before = self._executed_at_first_hook.of(view, self._executed_tokens)
        return descending(response_ratio(self._executed_tokens - executed_before, view.uncached_tokens))

    def on_hook(self, view: QueueView) -> None:
        """Note how many tokens had been executed when each request was first seen."""
        self._executed_at_first_hook.note(view, self._executed_tokens)

    def on_step(self, executed_tokens: int) -> None:
        """Count a step's tokens."""
        self._executed_tokens += executed_tokens


register("hrrn", Hrrn)

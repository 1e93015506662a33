"""Longest prefix match that ages: every hook waited counts as some more cached tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from fairway.policies.base import Capability, Policy, QueueView
from fairway.policies.first_seen import FirstSeen
from fairway.policies.registry import register
from fairway.policies.rules import descending


def aged_length(hit_tokens: Any, hooks_waited: Any, tokens_per_hook: Any) -> Any:
    """Return ``h + tokens_per_hook * hooks waited``."""
    return hit_tokens + tokens_per_hook * hooks_waited


@dataclass(frozen=True)
class AgingParameters:
    """How many cached tokens a hook counts as that saw the request and did not admit it."""

    tokens_per_hook: int = 64

    def __post_init__(self) -> None:
        if isinstance(self.tokens_per_hook, bool) or not isinstance(self.tokens_per_hook, int):
            raise ValueError(f"tokens_per_hook must be a whole number, not {self.tokens_per_hook!r}")
        if self.tokens_per_hook < 0:
            raise ValueError(f"tokens_per_hook must be at least 0, not {self.tokens_per_hook}")


class LpmAging(Policy):
    """Order by aged length, highest first, ties by arrival. The first hook that sees a request finds it not aged.

    Source: SGLang pull request 31723. Cost: one pass over the queue.
    """

    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.ON_HOOK})

    def __init__(self, **parameters: Any) -> None:
        self.parameters = AgingParameters(**parameters)
        self._hooks = 0
        self._first_hook = FirstSeen()

    def order(self, view: QueueView) -> Iterator[int]:
        """Yield positions by falling aged length."""
        waited = self._hooks - self._first_hook.of(view, self._hooks)
        return descending(aged_length(view.hit_tokens, waited, self.parameters.tokens_per_hook))

    def on_hook(self, view: QueueView) -> None:
        """Count a hook."""
        self._hooks += 1
        self._first_hook.note(view, self._hooks)


register("lpm-aging", LpmAging)

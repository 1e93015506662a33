"""RAGCache: cached tokens per token that is left to compute, and its window against starving."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from fairway.policies.base import Capability, Policy, QueueView
from fairway.policies.registry import register, register_family
from fairway.policies.rules import ByScore, Rule, RulePolicy
from fairway.policies.score import Score


def reuse_ratio(hit_tokens: Any, uncached_tokens: Any) -> Any:
    """Return ``h / max(1, c)``."""
    return hit_tokens / np.maximum(1, uncached_tokens)


HIGHEST_REUSE = ByScore(Score(reuse_ratio))


class RagCache(RulePolicy):
    """Order by reuse ratio, highest first: an infinite window. Cost: one pass over the queue.

    Source: arXiv 2404.12457.
    """

    def rule(self) -> Rule:
        """Return the order by falling reuse ratio."""
        return HIGHEST_REUSE


class RagCacheWindow(Policy):
    """Order by reuse ratio behind a head group, by arrival, of requests that ``window`` later arrivals have passed.

    Source: arXiv 2404.12457. Cost: one pass over the queue, and one more for each admission.
    """

    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.ON_HOOK, Capability.ON_ADMIT})

    def __init__(self, window: int) -> None:
        if isinstance(window, bool) or not isinstance(window, int) or window < 1:
            raise ValueError(f"window must be a whole number from 1 on, not {window!r}")
        self.window = window
        self._passed_by: dict[int, int] = {}  # request id -> later arrivals admitted; by arrival, as last seen

    def order(self, view: QueueView) -> Iterator[int]:
        """Yield the head group by arrival, then the others by falling reuse ratio."""
        ids = view.request_id.tolist()
        head = {position for position, one in enumerate(ids) if self._passed_by.get(one, 0) >= self.window}
        yield from sorted(head)
        yield from (position for position in HIGHEST_REUSE.order(view) if position not in head)

    def on_hook(self, view: QueueView) -> None:
        """Take in new requests and forget those that wait no more."""
        self._passed_by = {request: self._passed_by.get(request, 0) for request in view.request_id.tolist()}

    def on_admit(self, request_id: int) -> None:
        """Count, for everybody who came before the admitted request, that it passed them."""
        for earlier in self._passed_by:
            if earlier == request_id:
                break
            self._passed_by[earlier] += 1


register("ragcache", RagCache)
register_family("ragcache", RagCacheWindow, parameter="window", shown=(32,))

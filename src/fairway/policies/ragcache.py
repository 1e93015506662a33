"""RAGCache: cached tokens per token that is left to compute, and its window against starving."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fairway.policies.base import Capability
from fairway.policies.registry import register, register_family
from fairway.policies.remembering import HeadGroup
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


class RagCacheWindow(RulePolicy):
    """Order by reuse ratio behind a head group, by arrival, of requests that ``window`` later arrivals have passed.

    Source: arXiv 2404.12457. Cost: one pass over the queue, and one more for each admission.
    """

    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.ON_HOOK, Capability.ON_ADMIT})

    def __init__(self, window: int) -> None:
        if isinstance(window, bool) or not isinstance(window, int) or window < 1:
            raise ValueError(f"window must be a whole number from 1 on, not {window!r}")
        self.window = window

    def rule(self) -> Rule:
        """Return the head group and the order by falling reuse ratio behind it."""
        return HeadGroup(self.window, rest=HIGHEST_REUSE)


register("ragcache", RagCache)
register_family("ragcache", RagCacheWindow, parameter="window", shown=(32,))

"""RAGCache: cached tokens per token that is left to compute."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairway.policies.registry import register
from fairway.policies.rules import ByScore, Rule, RulePolicy
from fairway.policies.score import Score


def reuse_ratio(hit_tokens: Any, uncached_tokens: Any) -> Any:
    """Return ``h / max(1, c)``."""
    return hit_tokens / np.maximum(1, uncached_tokens)


class RagCache(RulePolicy):
    """Order by reuse ratio, highest first. Cost: one pass over the queue.

    Source: arXiv 2404.12457, without its window.
    """

    def rule(self) -> Rule:
        """Return the order by falling reuse ratio."""
        return ByScore(Score(reuse_ratio))


register("ragcache", RagCache)

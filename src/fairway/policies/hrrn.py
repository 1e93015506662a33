"""Highest response ratio next: the work done while a request waited, over the work that it needs."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fairway.policies.base import Capability
from fairway.policies.registry import register
from fairway.policies.remembering import ByCountedScore
from fairway.policies.rules import Rule, RulePolicy
from fairway.policies.score import Score


def response_ratio(executed_tokens: Any, uncached_tokens: Any) -> Any:
    """Return ``executed / max(1, c)``, where ``executed`` counts since the first hook that saw the request."""
    return executed_tokens / np.maximum(1, uncached_tokens)


class Hrrn(RulePolicy):
    """Order by response ratio, highest first, ties by arrival. Waiting is measured in tokens executed, not in seconds.

    Source: SGLang pull request 32911. Cost: one pass over the queue.
    """

    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.ON_HOOK, Capability.ON_STEP})

    def rule(self) -> Rule:
        """Return the order by falling response ratio."""
        return ByCountedScore(Score(response_ratio))


register("hrrn", Hrrn)

"""Fairway: a fast lane by reuse and relative wait, a fair lane by arrival, merged by ledgers of work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from fairway.policies.registry import PolicyFactory, register
from fairway.policies.rules import ByScore, Rule, RulePolicy, TwoLanes
from fairway.policies.score import Score

NS_PER_S = 1_000_000_000


def relative_score(
    hit_tokens: Any, uncached_tokens: Any, wait_ns: Any, prefill_ns: Any, patience_multiple: Any, patience_floor_ns: Any
) -> Any:
    """Return ``h / max(1, c) + w / P`` with patience ``P = max(floor, multiple * T(n, 0))``.

    Patience comes from the whole prompt on purpose: that is fixed for a request, while ``c`` moves with the cache and
    is in the first term already.
    """
    patience_ns = np.maximum(patience_floor_ns, patience_multiple * prefill_ns)
    return hit_tokens / np.maximum(1, uncached_tokens) + wait_ns / patience_ns


def absolute_score(hit_tokens: Any, uncached_tokens: Any, wait_ns: Any) -> Any:
    """Return ``h / max(1, c) + w`` with the wait in seconds: the ablation of patience."""
    return hit_tokens / np.maximum(1, uncached_tokens) + wait_ns / NS_PER_S


@dataclass(frozen=True)
class FairwayParameters:
    """Fairway's three parameters, its ablations and the readings that the source leaves open (defaults first)."""

    fast_weight: float = 4
    patience_multiple: float = 3
    patience_floor_s: float = 1.0
    wait: Literal["relative", "absolute"] = "relative"
    fair_lane: bool = True
    charge: Literal["released", "next"] = "released"
    fair_restarts: bool = False

    def __post_init__(self) -> None:
        for name in ("fast_weight", "patience_multiple", "patience_floor_s"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise ValueError(f"{name} must be a positive number, not {value!r}")
        for name, known in (("wait", ("relative", "absolute")), ("charge", ("released", "next"))):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, not {getattr(self, name)!r}")
        for name in ("fair_lane", "fair_restarts"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be true or false, not {getattr(self, name)!r}")


class Fairway(RulePolicy):
    """The source's scheduler. Cost: one pass over the queue, then a few operations per released request."""

    def __init__(self, parameters: FairwayParameters | None = None, **changes: Any) -> None:
        self.parameters = replace(parameters or FairwayParameters(), **changes)

    @cached_property
    def _rule(self) -> Rule:
        chosen = self.parameters
        fast = ByScore(self._score())
        if not chosen.fair_lane:
            return fast
        return TwoLanes(fast, chosen.fast_weight, chosen.charge, chosen.fair_restarts)

    def _score(self) -> Score:
        if self.parameters.wait == "absolute":
            return Score(absolute_score)
        floor_ns = round(self.parameters.patience_floor_s * NS_PER_S)
        return Score(relative_score, (self.parameters.patience_multiple, floor_ns))

    def rule(self) -> Rule:
        """Return the two lanes, or the fast lane alone without the fair one."""
        return self._rule


def _preset(**presets: Any) -> PolicyFactory:
    parameters = FairwayParameters(**presets)
    return lambda **changes: Fairway(parameters, **changes)


register("fairway", Fairway)
register("fairway-absolute", _preset(wait="absolute"))
register("fairway-nofair", _preset(fair_lane=False))
register("fairway-absolute-nofair", _preset(wait="absolute", fair_lane=False))

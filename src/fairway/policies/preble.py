"""Preble: groups by cached share that take turns, the better cached ones with more requests a turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from fairway.policies.base import Capability
from fairway.policies.registry import PolicyFactory, register
from fairway.policies.remembering import Draws, Turns
from fairway.policies.rules import Rule, RulePolicy
from fairway.policies.score import Score

GROUPS = 10
REQUESTS_PER_WEIGHT = 10  # a turn takes up to so many requests of a group, times the group's weight


def cached_share_group(hit_tokens: Any, n_tokens: Any) -> Any:
    """Return the group of a cached share: 0 without a hit, else ``ceil(10 h / n) - 1``, from 0 to 9."""
    return np.maximum(0, -(-GROUPS * hit_tokens // np.maximum(1, n_tokens)) - 1)


@dataclass(frozen=True)
class PrebleParameters:
    """The readings that the source leaves open, defaults first.

    ``group="hook"`` finds a request's group anew at every hook. ``work_conserving=False`` offers the pointer's group
    alone. ``draw="proportional"`` draws single requests in proportion to the groups' weights instead of taking turns.
    """

    group: Literal["first seen", "hook"] = "first seen"
    work_conserving: bool = True
    draw: Literal["turns", "proportional"] = "turns"

    def __post_init__(self) -> None:
        for name, known in (("group", ("first seen", "hook")), ("draw", ("turns", "proportional"))):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, not {getattr(self, name)!r}")
        if not isinstance(self.work_conserving, bool):
            raise ValueError(f"work_conserving must be true or false, not {self.work_conserving!r}")
        if self.draw == "proportional" and not self.work_conserving:
            raise ValueError("a proportional draw has no pointer, so it cannot offer the pointer's group alone")


class Preble(RulePolicy):
    """Order by turns of ten groups (`Turns`), or by a proportional draw from them (`Draws`); in a group by arrival.

    A turn takes up to ``10 (g + 1)`` requests of group ``g``. It starts at the best cached group. Of 55 requests drawn
    in proportion from ten full groups, ``g + 1`` come from group ``g``, as in the paper's example.

    Source: arXiv 2407.00023 section 3.3 and its public code. Cost: one pass over the queue.
    """

    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.ON_HOOK, Capability.ON_ADMIT})

    def __init__(self, **parameters: Any) -> None:
        self.parameters = PrebleParameters(**parameters)

    def rule(self) -> Rule:
        """Return the turns or the draws."""
        score, is_fixed = Score(cached_share_group), self.parameters.group == "first seen"
        if self.parameters.draw == "proportional":
            return Draws(GROUPS, score, is_fixed)
        return Turns(GROUPS, score, is_fixed, REQUESTS_PER_WEIGHT, self.parameters.work_conserving)


def _preset(**presets: Any) -> PolicyFactory:
    return lambda **changes: Preble(**{**presets, **changes})


register("preble", Preble)
register("preble-reevaluated", _preset(group="hook"))
register("preble-one-group", _preset(work_conserving=False))
register("preble-proportional", _preset(draw="proportional"))

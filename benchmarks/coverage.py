"""Which part of the replay serves a policy: compiled code alone, compiled steps that ask it in Python, or neither."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.replaying import CACHE_BLOCKS
from benchmarks.traffic import Arrivals, Content, parts
from fairway.core import not_covered
from fairway.core.plan import plan_of
from fairway.engine import Limits
from fairway.policies import make_policy

COMPILED = "compiled"
ASKED = "asked"  # its order is Python's at every step; the steps are compiled


def served(policies: Sequence[str]) -> dict[str, str]:
    """Return which of the two serves each policy that the core covers."""
    refused = left_out(policies)
    return {
        policy: ASKED if plan_of(make_policy(policy)) is None else COMPILED
        for policy in policies
        if policy not in refused
    }


def left_out(policies: Sequence[str]) -> dict[str, str]:
    """Return why the core does not cover a policy, for those that it does not: they are not measured."""
    (trace,) = parts(Content(), Arrivals(1.0), 0, 1)
    reasons = {policy: not_covered(trace, make_policy(policy), Limits(CACHE_BLOCKS)) for policy in policies}
    return {policy: reason for policy, reason in reasons.items() if reason is not None}

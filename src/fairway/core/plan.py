"""A policy that is a rule, as numbers that compiled code follows."""

from __future__ import annotations

from dataclasses import dataclass

from fairway.core import layout as at
from fairway.core.formula import HEAD_ID, NotPlainError, Program, program_of
from fairway.policies import ByArrival, ByScore, Capability, EveryK, Policy, Rule, RulePolicy, TwoLanes

LARGEST_K = 2**62  # more admissions than there can be
LARGEST_WEIGHT = 2**20  # up to there ledgers are exact as floating-point numbers, whatever a step's work


@dataclass(frozen=True, eq=False)
class Plan:
    """A rule; ``program`` scores requests, None takes the oldest for the best."""

    rule: int = at.ONE_ORDER
    k: int = 1
    fast_weight: float = 1.0
    charges_next: bool = False
    fair_restarts: bool = False
    program: Program | None = None

    @property
    def reads_heads(self) -> bool:
        """Whether the ids of the first tokens are read."""
        return self.program is not None and HEAD_ID in self.program.columns


def plan_of(policy: Policy) -> Plan | None:
    """Return the plan of a policy, or None if it has to be asked: it is no rule, or one that is not known here."""
    if not isinstance(policy, RulePolicy) or not _is_nothing_but_its_rule(policy):
        return None
    rule = policy.rule()
    try:
        if type(rule) is EveryK and Capability.ON_ADMIT in policy.capabilities:
            return Plan(at.EVERY_K, k=min(rule.k, LARGEST_K), program=_program(rule.best))
        if type(rule) is TwoLanes and 0 < rule.fast_weight <= LARGEST_WEIGHT:
            return Plan(
                at.TWO_LANES,
                fast_weight=float(rule.fast_weight),
                charges_next=rule.charge == "next",
                fair_restarts=rule.fair_restarts,
                program=_program(rule.fast),
            )
        return Plan(program=_program(rule))
    except NotPlainError:
        return None


def _is_nothing_but_its_rule(policy: RulePolicy) -> bool:
    """Whether the order follows from the rule and the number of admissions alone."""
    kind = type(policy)
    own = kind.order is RulePolicy.order and kind.on_admit is RulePolicy.on_admit
    return own and policy.capabilities <= {Capability.ON_ADMIT}


def _program(rule: Rule) -> Program | None:
    if type(rule) is ByArrival:
        return None
    if type(rule) is ByScore:
        return program_of(rule.score)
    raise NotPlainError(f"{type(rule).__name__} has no compiled form here")

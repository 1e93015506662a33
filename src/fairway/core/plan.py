"""A policy that is a rule, as numbers that compiled code follows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fairway.core import layout as at
from fairway.core.formula import EXECUTED_BEFORE, HEAD_ID, NotPlainError, Program, program_of
from fairway.policies import (
    ByArrival,
    ByCountedScore,
    ByScore,
    Capability,
    Draws,
    EveryK,
    HeadGroup,
    Policy,
    Rule,
    RulePolicy,
    StandingList,
    Turns,
    TwoLanes,
)

LARGEST_WEIGHT = 2**20  # up to there ledgers are exact as floating-point numbers, whatever a step's work


@dataclass(frozen=True, eq=False)
class Plan:
    """A rule; ``program`` scores requests, None takes the oldest for the best."""

    rule: int = at.ONE_ORDER
    k: int = 1  # or a head group's window
    fast_weight: float = 1.0
    charges_next: bool = False
    fair_restarts: bool = False
    program: Program | None = None
    fixes_keys: bool = False
    groups: int = 0
    share: int = 0
    offers_all: bool = True
    cold_hit_tokens: int = 0
    most_sorted: int = 0
    spared: int = 0

    @property
    def reads_heads(self) -> bool:
        """Whether the ids of the first tokens are read."""
        return self.rule == at.STANDING_LIST or (self.program is not None and HEAD_ID in self.program.columns)


def plan_of(policy: Policy) -> Plan | None:
    """Return the plan of a policy, or None if it has to be asked: it is no rule, or one that is not known here."""
    if not isinstance(policy, RulePolicy) or not _is_nothing_but_its_rule(policy):
        return None
    try:
        plan, heard = _plan(policy.rule())
    except NotPlainError:
        return None
    if not heard <= policy.capabilities:
        return None  # the rule is to be followed without hearing of what it is about
    if Capability.VICTIM_RANK not in policy.capabilities:
        return plan
    return replace(plan, spared=policy.spared) if plan.rule == at.ONE_ORDER else None


_HEARING = ("on_arrival", "on_hook", "on_admit", "on_step")


def _is_nothing_but_its_rule(policy: RulePolicy) -> bool:
    """Whether the order, and what is spared, follow from the rule alone."""
    kind = type(policy)
    return all(getattr(kind, name) is getattr(RulePolicy, name) for name in ("order", "victim_rank", *_HEARING))


def _plan(rule: Rule) -> tuple[Plan, frozenset[Capability]]:
    """Return a rule's plan, and of what its memory has to hear."""
    if type(rule) is EveryK:
        plan = Plan(at.EVERY_K, k=min(rule.k, at.MOST), program=_program(rule.best))
        return plan, frozenset({Capability.ON_ADMIT})
    if type(rule) is TwoLanes and 0 < rule.fast_weight <= LARGEST_WEIGHT:
        plan = Plan(
            at.TWO_LANES,
            fast_weight=float(rule.fast_weight),
            charges_next=rule.charge == "next",
            fair_restarts=rule.fair_restarts,
            program=_program(rule.fast),
        )
        return plan, frozenset()
    if type(rule) is ByCountedScore:
        program = program_of(rule.score, counted=True)
        heard = {Capability.ON_HOOK, *([Capability.ON_STEP] if EXECUTED_BEFORE in program.columns else [])}
        return Plan(program=program), frozenset(heard)
    if type(rule) is HeadGroup:
        plan = Plan(at.HEAD_GROUP, k=min(rule.window, at.MOST), program=_program(rule.rest))
        return plan, frozenset({Capability.ON_HOOK, Capability.ON_ADMIT})
    if type(rule) is Turns or type(rule) is Draws:
        return _plan_of_groups(rule), frozenset({Capability.ON_HOOK, Capability.ON_ADMIT})
    if type(rule) is StandingList:
        plan = Plan(at.STANDING_LIST, cold_hit_tokens=rule.cold_hit_tokens, most_sorted=rule.most_sorted)
        return plan, frozenset({Capability.ON_HOOK})
    return Plan(program=_program(rule)), frozenset()


def _plan_of_groups(rule: Turns | Draws) -> Plan:
    program = program_of(rule.score)
    if program.steady < len(program.instructions):
        raise NotPlainError("groups that change with the clock have no compiled form here")
    plan = Plan(at.DRAWS, program=program, fixes_keys=rule.is_fixed, groups=rule.count)
    return (
        plan if isinstance(rule, Draws) else replace(plan, rule=at.TURNS, share=rule.share, offers_all=rule.offers_all)
    )


def _program(rule: Rule) -> Program | None:
    if type(rule) is ByArrival:
        return None
    if type(rule) is ByScore:
        return program_of(rule.score)
    raise NotPlainError(f"{type(rule).__name__} has no compiled form here")

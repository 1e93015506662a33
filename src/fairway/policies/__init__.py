"""Waiting-queue policies: the contract, the rules that they share, one file per policy, and their registry."""

from fairway.policies import (  # noqa: F401  importing a policy registers it
    fairway,
    fcfs,
    hrrn,
    klpm,
    lpm,
    lpm_aging,
    lpm_sglang,
    peek,
    preble,
    ragcache,
    srpt,
)
from fairway.policies.asking import (
    ANSWER_LIMIT_S,
    checked_order,
    checked_victim_rank,
    drawn_together,
    limited_answers,
    tell_of,
    tell_of_hook,
)
from fairway.policies.base import Capability, Column, Policy, QueueView
from fairway.policies.registry import make_policy, policy_names, register, register_family
from fairway.policies.remembering import HEAD_TOKENS, ByCountedScore, Draws, HeadGroup, StandingList, Turns
from fairway.policies.rules import ByArrival, ByScore, EveryK, Release, Rule, RulePolicy, TwoLanes
from fairway.policies.score import Score

__all__ = [
    "ANSWER_LIMIT_S",
    "HEAD_TOKENS",
    "ByArrival",
    "ByCountedScore",
    "ByScore",
    "Capability",
    "Column",
    "Draws",
    "EveryK",
    "HeadGroup",
    "Policy",
    "QueueView",
    "Release",
    "Rule",
    "RulePolicy",
    "Score",
    "StandingList",
    "Turns",
    "TwoLanes",
    "checked_order",
    "checked_victim_rank",
    "drawn_together",
    "limited_answers",
    "make_policy",
    "policy_names",
    "register",
    "register_family",
    "tell_of",
    "tell_of_hook",
]

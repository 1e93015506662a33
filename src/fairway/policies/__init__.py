"""Waiting-queue policies: the contract, the rules that they share, one file per policy, and their registry."""

from fairway.policies import fairway, fcfs, klpm, lpm, ragcache, srpt  # noqa: F401  importing a policy registers it
from fairway.policies.asking import checked_order
from fairway.policies.base import Capability, Column, Policy, QueueView
from fairway.policies.registry import make_policy, policy_names, register, register_family
from fairway.policies.rules import ByArrival, ByScore, EveryK, Rule, RulePolicy, TwoLanes
from fairway.policies.score import Score

__all__ = [
    "ByArrival",
    "ByScore",
    "Capability",
    "Column",
    "EveryK",
    "Policy",
    "QueueView",
    "Rule",
    "RulePolicy",
    "Score",
    "TwoLanes",
    "checked_order",
    "make_policy",
    "policy_names",
    "register",
    "register_family",
]

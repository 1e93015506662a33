"""Policies by name."""

import sys

import pytest

from fairway.errors import InputError
from fairway.policies import Policy, make_policy, policy_names
from fairway.policies.fairway import FairwayParameters


def test_names_are_those_of_the_tables():
    assert {
        *("fcfs", "lpm", "lpm-sglang", "klpm-4", "klpm-8", "ragcache", "ragcache-32", "preble", "peek"),
        *("hrrn", "lpm-aging", "srpt"),
        *("fairway", "fairway-absolute", "fairway-nofair", "fairway-absolute-nofair"),
    } <= set(policy_names())
    assert {"fairway-absolute", "fairway-nofair", "fairway-absolute-nofair"} <= set(policy_names())


def test_a_policy_knows_its_name():
    assert [make_policy(name).name for name in policy_names()] == policy_names()


def test_an_unknown_name_lists_the_known_ones_and_the_nearest():
    with pytest.raises(InputError, match=r"unknown policy 'fairwya'.*did you mean 'fairway'.*fcfs"):
        make_policy("fairwya")


def test_any_k_is_a_policy():
    assert make_policy("klpm-32").k == 32


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("klpm-0", {}),
        ("fairway", {"fast_weight": 0}),
        ("fairway", {"fast_weight": float("nan")}),
        ("fairway", {"patience_floor_s": -1}),
        ("fairway", {"patience_multiple": True}),
        ("fairway", {"wait": "both"}),
        ("fairway", {"fair_lane": "no"}),
        ("fairway", {"weight": 4}),
        ("fcfs", {"k": 4}),
    ],
)
def test_parameters_that_make_no_sense_are_refused(name, parameters):
    with pytest.raises(InputError, match="refuses its parameters"):
        make_policy(name, **parameters)


@pytest.mark.parametrize(
    ("name", "parameter", "remedy"),
    [
        ("fairway", "fast_wait", "did you mean 'fast_weight'? known parameters: fast_weight, patience_multiple, "),
        ("fairway-nofair", "parameters", "known parameters: fast_weight, "),
        ("klpm-4", "j", "known parameters: k"),
        ("ragcache-32", "windows", "did you mean 'window'? known parameters: window"),
        ("preble", "pointer", "known parameters: group, work_conserving, draw"),
        ("fcfs", "k", "leave them out: it has none"),
        ("hrrn", "k", "leave them out: it has none"),
    ],
)
def test_an_unknown_parameter_lists_the_known_ones(name, parameter, remedy):
    with pytest.raises(InputError) as caught:
        make_policy(name, **{parameter: 1})
    assert caught.value.problem == f"policy {name!r} refuses its parameters: it has no parameter {parameter!r}"
    assert caught.value.remedy.startswith(remedy)


class Needs(Policy):
    def __init__(self, depth):
        self.depth = depth

    def order(self, view):
        return iter(())


class TakesAnything(Needs):
    def __init__(self, **options):
        super().__init__(options)


def test_an_outside_policy_says_what_it_says(monkeypatch):
    factories = {"needs": Needs, "anything": TakesAnything}
    monkeypatch.setattr(sys.modules["fairway.policies.registry"], "_FACTORIES", factories)
    assert make_policy("needs", depth=3).depth == 3
    assert make_policy("anything", depth=3).depth == {"depth": 3}
    for parameters in ({}, {"width": 3}):
        with pytest.raises(InputError, match="policy 'needs' refuses its parameters: "):
            make_policy("needs", **parameters)


def test_the_defaults_are_the_frozen_parameters():
    defaults = FairwayParameters()
    assert (defaults.fast_weight, defaults.patience_multiple, defaults.patience_floor_s) == (4, 3, 1.0)


def test_ablations_are_parameters_of_one_policy():
    for name, wait, fair_lane in (
        ("fairway-absolute", "absolute", True),
        ("fairway-nofair", "relative", False),
        ("fairway-absolute-nofair", "absolute", False),
    ):
        assert make_policy(name).parameters == FairwayParameters(wait=wait, fair_lane=fair_lane)
    assert make_policy("fairway-nofair", fast_weight=8).parameters.fast_weight == 8

"""Policies by name."""

import pytest

from fairway.errors import InputError
from fairway.policies import make_policy, policy_names
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

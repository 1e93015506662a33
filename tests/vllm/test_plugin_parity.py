"""The plugin decides as the readable engine does, at every step: same columns, same admissions, same cache."""

import importlib

import pytest

from fairway.engine import EVENTS
from fairway.parity import Counts, random_case
from fairway.policies import make_policy, policy_names

from .plugin_engine import plugin_engine

comparing = importlib.import_module("fairway.parity.compare")
SERVED = [name for name in policy_names() if make_policy(name).capabilities <= EVENTS]
FEW = ("fcfs", "klpm-4", "lpm-sglang", "preble-proportional", "ragcache-32", "hrrn", "fairway")  # each asks for more
SEEDS = (0, 3, 11)


@pytest.fixture(scope="module")
def met():
    return Counts()


@pytest.mark.parametrize(
    "policy", [name if name in FEW else pytest.param(name, marks=pytest.mark.slow) for name in SERVED]
)
def test_no_difference(monkeypatch, policy, met):
    monkeypatch.setattr(comparing, "VllmEngine", plugin_engine(monkeypatch, {}))
    for seed in SEEDS:
        comparison = comparing.compare(random_case(seed), policy)
        assert comparison.difference is None, f"seed {seed}: {comparison.difference}"
        met.add(comparison.counts)


def test_the_cases_meet_every_corner(met):
    assert met.steps >= 5_000
    assert min(met.hits, met.preemptions, met.evictions, met.aborts_waiting, met.aborts_running) >= 20

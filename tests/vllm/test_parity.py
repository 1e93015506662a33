"""The readable engine decides as vLLM's scheduler does, at every step of random cases under every policy."""

import pytest

from fairway.parity import Counts, compare, random_case
from fairway.parity.campaign import compared_policies

POLICIES = compared_policies()
SEEDS = (*range(10), 11, 26)  # 44,000 steps; 26 is a burst


@pytest.fixture(scope="module")
def met():
    return Counts()


@pytest.mark.parametrize("seed", SEEDS)
def test_no_difference(seed, met):
    case = random_case(seed)
    for policy in POLICIES:
        comparison = compare(case, policy)
        assert comparison.difference is None, f"{policy}: {comparison.difference}"
        met.add(comparison.counts)


def test_the_random_cases_meet_every_corner(met):
    assert met.steps >= 20_000
    assert met.longest_queue >= 200
    assert min(met.refused, met.hits, met.preemptions, met.evictions, met.aborts_waiting, met.aborts_running) >= 20

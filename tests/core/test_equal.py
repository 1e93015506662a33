"""The core decides as the readable engine does: every number of a replay and every hook row."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from tests.core.conftest import NAMES, Case, compare, random_case

from fairway.policies import make_policy
from fairway.replay import replay

STEPS_IN_ALL = 20_000
STEPS_OF_A_POLICY = -(-STEPS_IN_ALL // len(NAMES))
PARTS, STEPS_OF_A_PART = 20, 100_000


@pytest.mark.parametrize("policy", NAMES)
def test_equal_under(policy: str) -> None:
    steps, seeds = 0, itertools.count(1000 * NAMES.index(policy))
    while steps < STEPS_OF_A_POLICY:
        seed = next(seeds)
        steps += compare(random_case(seed), policy, record_hooks=seed % 3 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_equal_in_millions_of_steps(part: int, capsys: pytest.CaptureFixture[str]) -> None:
    steps, cases = 0, _cases_of(part)
    while steps < STEPS_OF_A_PART:
        seed, policy = next(cases)
        steps += compare(random_case(seed), policy, record_hooks=seed % 3 == 0)
    with capsys.disabled():
        print(f" [part {part + 1} of {PARTS}: {steps:,} steps, no difference] ", end="")


def _cases_of(part: int) -> Iterator[tuple[int, str]]:
    """Yield seeds that no other part has, each with another policy."""
    return zip(itertools.count(1_000_000 * (part + 1)), itertools.cycle(NAMES), strict=False)


def test_the_random_cases_meet_the_corners() -> None:
    cases = [random_case(seed) for seed in range(60)]
    assert any((case.trace.prompt_tokens > case.limits.usable_tokens).any() for case in cases), "refusals"
    assert any((case.trace.prompt_tokens % case.limits.block_tokens == 0).any() for case in cases), "full last blocks"
    assert any(case.trace.block_tokens > case.limits.block_tokens for case in cases)
    assert any(case.trace.block_tokens < case.limits.block_tokens for case in cases)
    assert {case.trace.block_ids.dtype for case in cases} == {np.dtype(np.int32), np.dtype(np.int64)}
    assert len({case.limits.budget_tokens for case in cases}) > 5
    assert max(_most_waiting(case) for case in cases) > 64


def _most_waiting(case: Case) -> int:
    trace, limits, profile, prompts = case
    hooks = replay(trace, make_policy("lpm"), profile, limits, prompts=prompts, record_hooks=True).hooks
    return max(hooks.waiting.tolist(), default=0)

"""The bounds: by hand, against every chunking, and beaten by no policy on any run."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profile.test_step_time import PROFILES, measured
from tests.test_replay import PROFILE, QUARTER_SECOND, trace

from fairway.analysis.bounds import least_total_flow_ns
from fairway.bounds import bounds_of, least_work
from fairway.bounds.chunking import least_times
from fairway.bounds.least_work import lowest_ns_per_token, shared_tokens
from fairway.engine import Limits
from fairway.errors import InputError
from fairway.policies import Capability, make_policy, policy_names
from fairway.replay import replay
from fairway.traces import write_trace

POLICIES = [*policy_names(), "ragcache-2", "klpm-2"]


def test_what_others_share_is_free_but_never_all():
    rows = trace((0, 64, [1, 2, 3, 4]), (5, 70, [1, 2, 3, 4, 5]), (9, 48, [1, 2, 9]), (9, 20, [7, 8]))
    assert shared_tokens(rows, 16).tolist() == [48, 64, 32, 0]


def test_blocks_within_one_prompt_are_no_sharing():
    assert shared_tokens(trace((0, 64, [1, 1, 1, 1])), 16).tolist() == [0]


def test_the_lowest_time_a_token():
    # steps are whole ns: 5 tokens take 2,441,406.25, so 2,441,406
    assert lowest_ns_per_token(QUARTER_SECOND, 512) == Fraction(2_441_406, 5)
    # in the modelled fit the constant spreads over the whole budget: (0.1084 * 2048 + 4.21) / 0.9
    assert lowest_ns_per_token(PROFILE, 2048) == Fraction(round((0.1084 * 2048 + 4.21) / 0.9 * 1e6), 2048)


def test_least_work_by_hand():
    rows = trace((0, 512, range(32)), (0, 520, range(33)))  # 1 hits at most 32 blocks, 0 at most 31
    work = least_work(rows, QUARTER_SECOND, 512, 16)
    assert work.free_tokens.tolist() == [496, 512]
    assert work.size_ns.tolist() == [7_812_499, 3_906_249], "the lowest time of 16 tokens, below that of a step of 16"
    assert work.least_ns.tolist() == [7_812_500, 3_906_250]


def test_smaller_chunks_can_take_less_than_full_ones():
    full_ns = PROFILE.prefill_ns(8192, 0, 2048)
    (least_ns,) = least_times(np.array([8192]), np.array([0]), PROFILE, 2048).tolist()
    assert least_ns < 0.995 * full_ns, "long-context attention starts at 2^20 new tokens times context"
    assert least_times(np.array([512]), np.array([0]), PROFILE, 2048).tolist() == [PROFILE.prefill_ns(512, 0, 2048)]


def every_chunking(profile, start, end, budget):
    if start >= end:
        return 0
    return min(
        profile.step_ns([(new, start + new)]) + every_chunking(profile, start + new, end, budget)
        for new in range(1, min(budget, end - start) + 1)
    )


# times that fall as more is cached: then a chunk had better begin inside the free part
ODD = measured(
    linear={"tokens": [1, 5], "ms": [1.0, 3.5]},
    attention={"new_tokens": [1, 4], "prefix_tokens": [0, 3, 7], "ms": [[0.0, 3.0, 9.0], [0.1, 5.0, 9.0]]},
)


@given(st.sampled_from([*PROFILES.values(), ODD]), st.integers(1, 9), st.integers(0, 8), st.integers(1, 5))
def test_the_least_over_every_chunking(profile, n_tokens, free_tokens, budget):
    free_tokens = min(free_tokens, n_tokens - 1)
    expected = min(every_chunking(profile, start, n_tokens, budget) for start in range(free_tokens + 1))
    least = least_times(np.array([n_tokens, 1]), np.array([free_tokens, 0]), profile, budget)
    assert least[0] == expected


def test_the_free_part_may_be_computed_where_that_is_cheaper():
    anew, reused = every_chunking(ODD, 0, 5, 5), every_chunking(ODD, 4, 5, 5)
    assert anew < reused
    assert least_times(np.array([5]), np.array([4]), ODD, 5).tolist() == [anew]


contents = st.lists(
    st.tuples(st.integers(0, 400), st.integers(1, 200), st.lists(st.integers(0, 2), min_size=13, max_size=13)),
    min_size=1,
    max_size=25,
)


def beats(rows, name, profile, output_tokens, cache_blocks, budget_tokens, eviction):
    """Return which bounds a run beats."""
    arrivals = np.cumsum([row[0] for row in rows]).tolist()
    rows = [(at, n, ids[: -(-n // 16)]) for at, (_, n, ids) in zip(arrivals, rows, strict=True)]
    some_trace = trace(*rows, output_tokens=output_tokens)
    policy = make_policy(name)
    if Capability.VICTIM_RANK in policy.capabilities:
        eviction = "lru"
    result = replay(some_trace, policy, profile, Limits(cache_blocks, budget_tokens, eviction=eviction))
    work = least_work(some_trace, profile, budget_tokens, 16)
    ttft_ns = result.first_token_ns - some_trace.arrival_ns
    beaten = ["request"] if (ttft_ns < work.least_ns).any() else []
    least_ns = least_total_flow_ns(some_trace.arrival_ns.tolist(), work.size_ns.tolist())
    return beaten + (["mean"] if int(ttft_ns.sum()) < least_ns else [])


runs = {
    "rows": contents,
    "name": st.sampled_from(POLICIES),
    "profile": st.sampled_from([PROFILE, QUARTER_SECOND, *PROFILES.values()]),
    "output_tokens": st.integers(1, 3),
    "cache_blocks": st.sampled_from([20, 30, 400]),
    "budget_tokens": st.sampled_from([16, 48, 256, 2048]),
    "eviction": st.sampled_from(["lru", "pgdsf"]),
}


@given(**runs)
def test_no_policy_beats_either_bound(**run):
    assert beats(**run) == []


@pytest.mark.slow
@settings(max_examples=2000)
@given(**runs)
def test_no_policy_beats_either_bound_many_more(**run):
    assert beats(**run) == []


def test_a_lone_request_reaches_its_bounds():
    """A bound that nothing comes near would pass the test above whatever it says."""
    run = trace((0, 512, range(32)))
    result = replay(run, make_policy("fcfs"), QUARTER_SECOND, Limits(400, 512))
    work = least_work(run, QUARTER_SECOND, 512, 16)
    assert result.first_token_ns.tolist() == [250_000_000]
    assert 249_999_900 < work.size_ns[0] <= work.least_ns[0] <= 250_000_000, "but for steps rounded to whole ns"


def test_two_traces_of_one_seed_are_refused(tmp_path):
    for name in ("a", "b"):
        write_trace(replace(trace((0, 16, [1])), header={"seed": 3}), tmp_path / f"{name}.jsonl")
    with pytest.raises(InputError, match="has seed 3, as another trace has"):
        bounds_of([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], PROFILE, 2048, 16)

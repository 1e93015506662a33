"""Step times of the core are the profile's, bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.conftest import MEASURED, MODELLED, random_case
from tests.core.test_trie import trace_of

from fairway.core.step_time import prefill_ns_of_each, step_times
from fairway.engine import Limits, Scheduler
from fairway.policies import make_policy
from fairway.profile import load_profile
from fairway.replay import Prompts, replay

PROFILES = [MODELLED, MEASURED, load_profile("a6000-llama-3.1-8b-modelled-pessimistic")]


@given(
    st.lists(st.integers(0, 40_000), min_size=1, max_size=30),
    st.sampled_from(PROFILES),
    st.sampled_from([1, 16, 100, 2048]),
)
def test_prefill_times_are_the_profile_s(lengths, profile, budget_tokens):
    lengths = [n % (50 * budget_tokens) for n in lengths]
    found = prefill_ns_of_each(step_times(profile, budget_tokens), np.array(lengths, dtype=np.int64)).tolist()
    assert found == [profile.prefill_ns(n, 0, budget_tokens) for n in lengths]


@given(st.lists(st.integers(1, 700), min_size=1, max_size=12), st.sampled_from(PROFILES))
def test_steps_of_many_chunks_take_the_profile_s_time(lengths, profile):
    trace = trace_of([([100 * one + block for block in range(-(-n // 16))], -n) for one, n in enumerate(lengths)], 16)
    limits = Limits(4000, 2048)
    core, readable = (
        replay(trace, make_policy("fcfs"), profile, limits, engine=engine) for engine in (None, Scheduler)
    )
    assert core.first_token_ns.tolist() == readable.first_token_ns.tolist()
    assert core.extrapolated_tokens == readable.extrapolated_tokens


@pytest.mark.parametrize("seed", range(5))
def test_prompts_prepared_once_serve_every_arrival_and_cache(seed):
    case = random_case(seed)
    for cache_blocks in (40, 4000):
        limits = Limits(cache_blocks, case.limits.budget_tokens, case.limits.max_num_seqs, case.limits.block_tokens)
        fresh = replay(case.trace, make_policy("lpm"), case.profile, limits)
        again = replay(case.trace, make_policy("lpm"), case.profile, limits, prompts=case.prompts)
        assert again.first_token_ns.tolist() == fresh.first_token_ns.tolist()
    assert isinstance(case.prompts, Prompts)

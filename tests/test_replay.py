"""The clock: arrivals, step ends, refusals; and the small cases that any replayer must agree on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.engine import Limits
from fairway.errors import InputError
from fairway.policies import Policy, make_policy, policy_names
from fairway.profile import load_profile
from fairway.profile.reader import profile_from
from fairway.replay import UNSERVED, Prompts, replay
from fairway.traces import Trace

PROFILE = load_profile("a6000-llama-3.1-8b-modelled")
QUARTER_SECOND = profile_from(  # 512 tokens cost exactly 0.25 s
    {
        "format": 1,
        "name": "q",
        "device": "d",
        "model": "m",
        "evidence": "modelled",
        "source": "s",
        "efficiency": 1.0,
        "linear": {"fit": {"floor_ms": 1.0, "constant_ms": 0.0, "per_token_ms": 250 / 512}},
        "attention": {"fit": {"floor_ms": 0.0, "constant_ms": 0.0, "per_context_token_ms": 0.0}},
    },
    "test",
)


def trace(*rows, block_tokens=16, output_tokens=1) -> Trace:
    """Rows of (arrival in ms, prompt tokens, ids)."""
    ids = [list(row[2]) for row in rows]
    count = len(rows)
    return Trace(
        arrival_ns=np.array([row[0] * 1_000_000 for row in rows], dtype=np.int64),
        prompt_tokens=np.array([row[1] for row in rows], dtype=np.int64),
        output_tokens=np.full(count, output_tokens, dtype=np.int64),
        block_ids=np.array([one for run in ids for one in run], dtype=np.int64),
        block_offsets=np.cumsum([0, *map(len, ids)]),
        block_tokens=block_tokens,
        kind=("",) * count,
        phase=("",) * count,
    )


def run(some_trace, policy="fcfs", cache_blocks=4000, profile=PROFILE, **limits):
    return replay(some_trace, make_policy(policy), profile, Limits(cache_blocks, **limits))


def test_a_partial_block_repeated_does_not_count_as_a_full_one():
    rows = trace((0, 546, [499, 500]), (60_000, 546, [499, 500]), (120_000, 1000, [499, 501]), block_tokens=512)
    assert run(rows).hit_tokens.tolist() == [0, 544, 512]
    assert run(rows, block_tokens=512).hit_tokens.tolist() == [0, 512, 512]


def test_cache_corner_cases():
    same = trace((0, 64, [1, 2, 3, 4]), (0, 64, [1, 2, 3, 4]))
    assert run(same).hit_tokens.tolist() == [0, 48], "in one step"
    far = trace((0, 1024, range(64)), (60_000, 1024, range(64)))
    assert run(far).hit_tokens.tolist() == [0, 1008]
    nearly = trace((0, 1024, range(64)), (60_000, 1024, [*range(63), 99]))
    assert run(nearly).hit_tokens.tolist() == [0, 1008]


@pytest.mark.parametrize("policy", policy_names())
def test_a_request_that_never_fits_is_refused_once_and_the_run_goes_on(policy):
    rows = trace((0, 2000, [0, 1, 2, 3]), (1, 100, [9]), block_tokens=512)
    result = run(rows, policy, cache_blocks=64)
    assert result.refused.tolist() == [True, False]
    assert result.first_token_ns.tolist()[0] == UNSERVED
    assert result.first_token_ns.tolist()[1] > 0
    (message,) = result.refusals
    assert "2000 prompt tokens" in message
    assert "holds 1008" in message


def test_an_arrival_at_the_instant_of_a_step_end_takes_part_in_the_next_order():
    rows = trace((0, 512, range(32)), (250, 512, range(100, 132)))
    result = run(rows, profile=QUARTER_SECOND, budget_tokens=512)
    assert result.first_token_ns.tolist() == [250_000_000, 500_000_000]
    assert result.start_ns.tolist() == [0, 250_000_000]


@pytest.mark.parametrize("policy", policy_names())
def test_equal_arrivals_run_in_trace_order(policy):
    rows = trace(*((0, 512, range(100 * one, 100 * one + 32)) for one in range(3)))
    result = run(rows, policy, profile=QUARTER_SECOND, budget_tokens=512)
    assert result.first_token_ns.tolist() == [250_000_000, 500_000_000, 750_000_000]


def test_an_idle_device_waits_for_the_next_arrival():
    result = run(trace((0, 300, range(19)), (5000, 300, range(50, 69))))
    assert result.start_ns.tolist() == [0, 5_000_000_000]
    assert result.busy_ns == result.first_token_ns[0] + result.first_token_ns[1] - 5_000_000_000
    assert result.end_ns == result.first_token_ns[1]


def test_ttft_of_a_lone_request_is_its_prefill_time():
    result = run(trace((7, 6300, range(394))))
    assert result.first_token_ns[0] - 7_000_000 == PROFILE.prefill_ns(6300, 0, 2048)


def test_more_output_tokens_take_more_steps():
    one, many = trace((0, 100, range(7))), trace((0, 100, range(7)), output_tokens=10)
    assert run(one).first_token_ns.tolist() == run(many).first_token_ns.tolist()
    assert run(many).steps == run(one).steps + 9
    assert run(many).finish_ns[0] > run(one).finish_ns[0]


def test_prepared_prompts_change_nothing():
    rows = trace((0, 64, [1, 2, 3, 4]), (0, 64, [1, 2, 3, 4]), (9, 40, [1, 2, 7]))
    limits = Limits(50)
    prepared = Prompts.of(rows, PROFILE, limits)
    for _ in range(2):  # a replay leaves them as they were
        again = replay(rows, make_policy("lpm"), PROFILE, limits, prompts=prepared)
        assert again.first_token_ns.tolist() == run(rows, "lpm", cache_blocks=50).first_token_ns.tolist()


def test_a_policy_that_never_names_anybody_is_an_error_not_an_endless_run():
    class Silent(Policy):
        name = "silent"

        def order(self, view):
            return iter(())

    with pytest.raises(InputError, match="policy 'silent' leaves 1 requests waiting for ever"):
        replay(trace((0, 16, [1])), Silent(), PROFILE, Limits(64))


def test_progress_reaches_the_end():
    seen = []
    rows = trace(*((one * 100, 64, [one, 2, 3, 4]) for one in range(9)))
    replay(rows, make_policy("fcfs"), PROFILE, Limits(64), progress=lambda done, count: seen.append((done, count)))
    assert seen[-1] == (9, 9)


@given(
    st.lists(
        st.tuples(st.integers(0, 400), st.integers(1, 200), st.lists(st.integers(0, 2), min_size=13, max_size=13)),
        min_size=1,
        max_size=25,
    ),
    st.sampled_from(policy_names()),
    st.integers(1, 3),
)
def test_time_and_tokens_add_up(rows, policy, output_tokens):
    arrivals = np.cumsum([row[0] for row in rows]).tolist()
    rows = [(at, n, ids[: -(-n // 16)]) for at, (_, n, ids) in zip(arrivals, rows, strict=True)]
    some_trace = trace(*rows, output_tokens=output_tokens)
    result = run(some_trace, policy, cache_blocks=30)
    assert not result.refused.any()
    assert (result.start_ns >= some_trace.arrival_ns).all()
    assert (result.first_token_ns > result.start_ns).all()
    assert (result.finish_ns >= result.first_token_ns).all()
    assert result.busy_ns <= result.end_ns
    if output_tokens == 1:
        assert result.computed_tokens == int((some_trace.prompt_tokens - result.hit_tokens).sum())
        lower = [PROFILE.step_ns([(1, 1)])] * len(rows)
        assert (result.first_token_ns - some_trace.arrival_ns >= np.array(lower)).all()

"""The readable engine decides as vLLM's scheduler does, at every step of random cases under every policy."""

from contextlib import nullcontext

import numpy as np
import pytest

from fairway.engine import Limits, Request, Scheduler, UnservableError
from fairway.errors import InputError
from fairway.parity import Counts, compare, random_case
from fairway.parity.campaign import compared_policies
from fairway.parity.case import Arrival, Case
from fairway.policies import make_policy
from fairway.profile import load_profile
from fairway.replay import replay
from fairway.vllm import engine as vllm_engine

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


def crowd(max_num_seqs: int) -> Case:
    """Four hundred tiny prompts at once in a large cache: what ends the walk is the number of running requests."""
    rng = np.random.Generator(np.random.PCG64(max_num_seqs))
    sizes = rng.integers(1, 49, 400).tolist()
    return Case(
        Limits(4000, budget_tokens=8192, max_num_seqs=max_num_seqs),
        tuple(
            Arrival(100 * place, tokens, int(rng.integers(1, 30)), (place % 5, 7, 8)[: -(-tokens // 16)])
            for place, tokens in enumerate(sizes)
        ),
    )


@pytest.mark.parametrize("max_num_seqs", [64, 256])
def test_no_difference_where_running_requests_reach_their_limit(max_num_seqs):
    case = crowd(max_num_seqs)
    most = 0

    class Watched(Scheduler):
        def schedule(self, now_ns):
            nonlocal most
            step = super().schedule(now_ns)
            most = max(most, len(self.running))
            return step

    profile = load_profile("a6000-llama-3.1-8b-modelled")
    replay(case.trace(), make_policy("lpm"), profile, case.limits, engine=Watched)
    assert most == max_num_seqs, "the limit binds"
    for policy in ("fcfs", "lpm", "klpm-3", "fairway", "peek"):
        comparison = compare(case, policy)
        assert comparison.difference is None, f"{policy}: {comparison.difference}"


@pytest.mark.parametrize(("output_tokens", "fits"), [(11, True), (12, False)])
def test_what_we_refuse_is_just_what_vllm_could_never_serve(output_tokens, fits, monkeypatch):
    """150 prompt tokens and the output's all but last against 160 tokens of cache, with the refusal taken out."""
    limits = Limits(11)
    one = Request(0, 0, 150, output_tokens, list(range(9)))
    with pytest.raises(UnservableError) if not fits else nullcontext():
        vllm_engine.refuse_unservable(one, limits)
    monkeypatch.setattr(vllm_engine, "refuse_unservable", lambda request, limits: None)
    engine = vllm_engine.VllmEngine(make_policy("fcfs"), limits)
    engine.submit(one)
    for now_ns in range(200):
        engine.complete(engine.schedule(now_ns), now_ns + 1)
    assert (one.emitted_tokens == output_tokens) is fits
    assert engine.has_work is not fits


def test_a_policy_that_is_none_is_no_difference():
    with pytest.raises(InputError, match="unknown policy"):
        compare(random_case(0), "nobody")

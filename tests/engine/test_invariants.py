"""What must be true after every step, whatever arrives, under every policy."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.conftest import arrivals, prefill_time, request

from fairway.engine import Limits, Scheduler, UnservableError
from fairway.policies import Capability, make_policy, policy_names

POLICIES = [*policy_names(), "klpm-2", "ragcache-2"]
limits = st.builds(
    Limits,
    cache_blocks=st.sampled_from([2, 5, 12, 16, 40, 400]),
    budget_tokens=st.sampled_from([16, 17, 48, 100, 2048]),
    max_num_seqs=st.sampled_from([1, 2, 5, 256]),
    eviction=st.sampled_from(["lru", "pgdsf"]),
)


class Watch:
    """Checks an engine at every hook and after every step."""

    def __init__(self, policy, sizes):
        chosen = make_policy(policy)
        if Capability.VICTIM_RANK in chosen.capabilities:
            sizes = replace(sizes, eviction="lru")
        self.engine = Scheduler(chosen, sizes, self.at_hook, prefill_time)
        self.submitted, self.refused, self.finished, self.aborted = {}, set(), [], set()
        self.hooks = 0

    def submit(self, one):
        try:
            self.engine.submit(one)
            self.submitted[one.request_id] = one
        except UnservableError:
            self.refused.add(one.request_id)

    def at_hook(self, step, view, policy):
        self.hooks += 1
        engine = self.engine
        before = (engine.pool.free_list(), {key: tuple(v) for key, v in engine.pool.resident.items()})
        list(policy.order(view))
        assert before == (engine.pool.free_list(), {key: tuple(v) for key, v in engine.pool.resident.items()})
        assert view.arrival_ns.tolist() == sorted(view.arrival_ns.tolist())
        for position, waiting in enumerate(engine.waiting.requests):
            limit = (waiting.n_tokens - 1) // 16
            walk = len(engine.pool.longest_hit(waiting.chain, limit)) * 16
            assert view.hit_tokens[position] == walk, "a hit at the hook equals a full walk"
            assert view.n_tokens[position] == waiting.n_tokens > walk

    def step(self, now_ns):
        engine = self.engine
        step = engine.schedule(now_ns)
        assert step.new_tokens <= engine.limits.budget_tokens
        assert len(engine.running) <= engine.limits.max_num_seqs
        assert not (step.preempted and step.admitted)
        scheduled = [chunk.request.request_id for chunk in step.chunks]
        assert len(scheduled) == len(set(scheduled))
        self.blocks_add_up()
        self.cache_is_closed()
        self.finished += [one.request_id for one in engine.complete(step, now_ns + 1)]
        self.blocks_add_up()
        assert sorted([*self.finished, *self.aborted, *self.present()]) == sorted(self.submitted)
        return step

    def present(self):
        return [one.request_id for one in [*self.engine.running, *self.engine.waiting.requests]]

    def cache_is_closed(self):
        resident = self.engine.pool.resident
        for one in self.submitted.values():
            cached = [content in resident for content in one.chain]
            assert cached == sorted(cached, reverse=True), "what is cached is a prefix"

    def blocks_add_up(self):
        engine, pool = self.engine, self.engine.pool
        free = pool.free_list()
        held = [0] * pool.blocks
        for one in engine.running:
            for block in one.blocks:
                held[block] += 1
        assert held == [pool.references(block) for block in range(pool.blocks)]
        assert sorted(free) == [block for block in range(1, pool.blocks) if held[block] == 0]
        assert all(not one.blocks for one in engine.waiting.requests)


def drive(watch, rows, output_tokens_of, abort=()):
    now_ns = 0
    for request_id, ((content, tail), steps, output) in enumerate(rows):
        for _ in range(steps):
            watch.step(now_ns)
            now_ns += 10
        watch.submit(request(request_id, content, tail, arrival_ns=now_ns, output_tokens=output_tokens_of(output)))
        if request_id in abort and watch.present():
            victim = watch.submitted[watch.present()[request_id % len(watch.present())]]
            watch.engine.abort(victim)
            watch.aborted.add(victim.request_id)
    steps = 0
    while watch.engine.has_work:
        watch.step(now_ns)
        now_ns += 10
        steps += 1
        assert steps < 100_000, "the engine makes progress"


@given(arrivals, limits, st.sampled_from(POLICIES), st.sets(st.integers(0, 39), max_size=4))
def test_many_output_tokens_with_aborts(rows, sizes, policy, abort):
    watch = Watch(policy, sizes)
    drive(watch, rows, lambda output: output, abort)
    assert set(watch.finished) | watch.aborted | watch.refused == set(range(len(rows)))
    assert watch.engine.pool.free_blocks == watch.engine.pool.usable_blocks


@given(arrivals, limits, st.sampled_from(POLICIES))
def test_one_output_token_never_preempts_and_leaves_one_partial_request(rows, sizes, policy):
    watch = Watch(policy, sizes)
    step_of = watch.step

    def step(now_ns):
        done = step_of(now_ns)
        assert not done.preempted
        assert len(watch.engine.running) <= 1, "only a partly prefilled request outlives its step"
        return done

    watch.step = step
    drive(watch, rows, lambda output: 1)


def test_the_mix_meets_preemption_and_eviction():
    """The random tests above are worth something only if their sizes reach these paths."""
    watch = Watch("lpm", Limits(12, budget_tokens=48))
    preempted = evicted = 0
    rows = [(([1, 2, index % 3], 5), 1, 40) for index in range(12)]
    step_of = watch.step

    def step(now_ns):
        nonlocal preempted, evicted
        done = step_of(now_ns)
        preempted += len(done.preempted)
        evicted += len(done.evicted)
        return done

    watch.step = step
    drive(watch, rows, lambda output: output)
    assert preempted > 0
    assert evicted > 0


@pytest.mark.slow
@settings(max_examples=3000)
@given(arrivals, limits, st.sampled_from(POLICIES), st.sets(st.integers(0, 39), max_size=4))
def test_many_more(rows, sizes, policy, abort):
    drive(Watch(policy, sizes), rows, lambda output: output, abort)

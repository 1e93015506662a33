"""Each rule of a step, worked by hand on a small engine."""

import pytest
from tests.engine.conftest import request, scheduler

from fairway.engine import Limits, Scheduler, UnservableError, refuse_unsupported
from fairway.errors import InputError
from fairway.policies import Capability, Column, Policy, make_policy


def run_step(engine, now_ns=0):
    step = engine.schedule(now_ns)
    engine.complete(step, now_ns + 1)
    return step


def chunks(step):
    return [(chunk.request.request_id, chunk.new_tokens) for chunk in step.chunks]


def test_a_long_prompt_is_chunked_and_goes_on_first():
    engine = scheduler(budget_tokens=100)
    engine.submit(request(0, range(9), tail_tokens=6))  # 150 tokens
    engine.submit(request(1, [50], tail_tokens=4))  # 20 tokens
    assert chunks(run_step(engine)) == [(0, 100)]
    assert chunks(run_step(engine)) == [(0, 50), (1, 20)]


def test_a_repeated_prompt_of_full_blocks_computes_its_last_block():
    engine = scheduler()
    engine.submit(request(0, range(64 // 16)))
    engine.submit(request(1, range(64 // 16)))
    assert chunks(run_step(engine)) == [(0, 64), (1, 16)], "blocks hit within the step in which they are scheduled"


def test_two_prompts_that_share_all_but_the_last_token():
    engine = scheduler(cache_blocks=200)
    shared = list(range(63))
    engine.submit(request(0, [*shared, 1000]))
    run_step(engine)
    engine.submit(request(1, [*shared, 1001]))
    assert chunks(run_step(engine)) == [(1, 16)]


def test_the_walk_ends_at_the_first_request_that_does_not_fit():
    engine = scheduler(cache_blocks=11, budget_tokens=64)
    engine.submit(request(0, range(7)))  # 112 tokens: two steps of 64 and 48
    run_step(engine)
    engine.submit(request(1, range(20, 28)))  # 8 blocks; 10 - 4 = 6 are free
    engine.submit(request(2, [40]))  # would fit
    assert chunks(run_step(engine)) == [(0, 48)]
    assert [one.request_id for one in engine.waiting.requests] == [1, 2]


def test_the_whole_prompt_must_fit_though_a_chunk_would():
    engine = scheduler(cache_blocks=11, budget_tokens=64)
    engine.submit(request(0, range(7)))
    run_step(engine)  # holds 4 of 10 blocks, 6 are free
    engine.submit(request(1, range(20, 27)))  # 7 blocks, of which the 16 tokens left of the budget need one
    assert chunks(run_step(engine)) == [(0, 48)]


def test_a_hit_in_the_free_list_is_no_longer_room():
    engine = scheduler(cache_blocks=11, budget_tokens=64)
    engine.submit(request(0, range(4), tail_tokens=1))
    run_step(engine)
    run_step(engine)
    assert engine.pool.free_blocks == 10
    engine.submit(request(1, range(50, 57)))  # 112 tokens: holds 4 blocks after this step
    run_step(engine)
    engine.submit(request(2, [*range(4), 60, 61, 62]))  # 7 blocks, 3 or 4 of them a hit; 6 are free, the hit included
    step = run_step(engine)
    assert chunks(step) == [(1, 48)]
    assert len(engine.waiting) == 1


def test_room_is_measured_after_the_hit_of_this_instant():
    engine = scheduler(cache_blocks=10)
    engine.submit(request(0, range(4), output_tokens=20))  # keeps its 4 blocks while it runs
    run_step(engine)
    engine.submit(request(1, [*range(4), 7, 8, 9], tail_tokens=5))  # 8 blocks, 4 of them held already: 4 of 5 free
    assert chunks(run_step(engine)) == [(0, 1), (1, 53)]


def test_max_num_seqs_ends_the_walk():
    engine = scheduler(max_num_seqs=2)
    for index in range(3):
        engine.submit(request(index, [index], output_tokens=3))
    assert chunks(run_step(engine)) == [(0, 16), (1, 16)]


def test_the_last_running_request_is_preempted_and_nothing_is_admitted():
    engine = scheduler(cache_blocks=5)  # 4 usable
    engine.submit(request(0, [1], tail_tokens=15, output_tokens=20))  # 31 tokens: 2 blocks
    engine.submit(request(1, [2], tail_tokens=15, output_tokens=20))  # 2 blocks
    engine.submit(request(2, [3], arrival_ns=5))
    assert chunks(run_step(engine)) == [(0, 31), (1, 31)]
    assert chunks(run_step(engine)) == [(0, 1), (1, 1)]  # fills the second blocks
    step = run_step(engine)  # request 0 needs a third block: request 1 gives way
    assert chunks(step) == [(0, 1)]
    assert [one.request_id for one in step.preempted] == [1]
    assert not step.admitted
    assert [one.request_id for one in engine.waiting.requests] == [1, 2], "it keeps its first arrival"


def test_a_preempted_request_hits_what_is_left_of_its_blocks_and_goes_on():
    engine = scheduler(cache_blocks=5)
    first = request(0, [1], tail_tokens=15, output_tokens=5)
    second = request(1, [2], tail_tokens=15, output_tokens=5)
    engine.submit(first)
    engine.submit(second)
    now_ns = 0
    seen = []
    while engine.has_work:
        seen.append(chunks(run_step(engine, now_ns)))
        now_ns += 1
    assert second.preemptions == 1
    # 33 tokens by then (31 and two generated); its first block is still cached, its second was taken by request 0
    assert (1, 17) in [pair for step in seen for pair in step]
    assert first.emitted_tokens == second.emitted_tokens == 5
    assert second.first_token_ns == 1, "the first token is not emitted again"
    assert second.hit_tokens_at_start == 0


def test_a_request_may_preempt_itself():
    engine = scheduler(cache_blocks=3)  # 2 usable
    engine.submit(request(0, [1], output_tokens=2))
    engine.submit(request(1, [2], output_tokens=2))
    run_step(engine)
    step = run_step(engine)
    assert [one.request_id for one in step.preempted] == [1]
    assert chunks(step) == [(0, 1)]


def test_freed_blocks_lie_suffix_first_and_unfilled_ones_in_front():
    engine = scheduler(cache_blocks=8)
    engine.submit(request(0, [1, 2], tail_tokens=3))  # blocks 1, 2 and the unfilled 3
    run_step(engine)
    assert engine.pool.free_list() == [3, 4, 5, 6, 7, 2, 1]


def test_a_lookup_returns_the_oldest_copy_and_a_hash_goes_with_its_last():
    engine = scheduler(cache_blocks=8)
    engine.submit(request(0, [1]))
    engine.submit(request(1, [1]))  # one full block: the last block is computed again, a copy
    run_step(engine)
    (block_hash,) = engine.pool.resident
    assert engine.pool.resident[block_hash] == [1, 2]
    engine.pool.allocate(6)  # 3 to 7, then block 1
    assert engine.pool.resident[block_hash] == [2]
    engine.pool.allocate(1)
    assert block_hash not in engine.pool.resident


def test_the_order_uses_hits_from_before_the_step():
    engine = scheduler("lpm", budget_tokens=64)
    engine.submit(request(0, range(6)))
    run_step(engine)  # registers the first four blocks
    engine.submit(request(1, [90, 91]))
    engine.submit(request(2, [*range(6), 95]))  # hits 4 blocks at the hook, 6 once request 0 has gone on
    assert chunks(run_step(engine)) == [(0, 32), (2, 16), (1, 16)]


def test_a_request_that_can_never_fit_is_refused_with_what_would():
    engine = scheduler(cache_blocks=64)
    with pytest.raises(UnservableError, match=r"request 0 can never fit: 2000 prompt tokens .* holds 1008"):
        engine.submit(request(0, range(125)))
    engine.submit(request(1, range(63)))
    with pytest.raises(UnservableError, match="need 1009 tokens"):
        engine.submit(request(2, range(63), output_tokens=2))
    assert [one.request_id for one in engine.waiting.requests] == [1]


def test_aborted_requests_leave_no_blocks_behind():
    engine = scheduler(budget_tokens=32)
    waiting, running = request(1, [2]), request(0, range(4))
    engine.submit(running)
    run_step(engine)
    engine.submit(waiting)
    engine.abort(waiting)
    engine.abort(running)
    assert not engine.has_work
    assert engine.pool.free_blocks == engine.pool.usable_blocks


class Broken(Policy):
    name = "broken"

    def __init__(self, positions):
        self.positions = positions

    def order(self, view):
        return iter(self.positions)


@pytest.mark.parametrize(("positions", "problem"), [([0, 0], "position 0 .* twice"), ([7], "position 7 of 2")])
def test_an_order_that_is_none_is_refused_by_name(positions, problem):
    engine = Scheduler(Broken(positions), Limits(64))
    engine.submit(request(0, [1]))
    engine.submit(request(1, [2]))
    with pytest.raises(InputError, match=f"policy 'broken' yielded {problem}"):
        engine.schedule(0)


def test_what_an_order_leaves_out_is_not_admitted():
    engine = Scheduler(Broken([1]), Limits(64))
    engine.submit(request(0, [1]))
    engine.submit(request(1, [2]))
    assert chunks(engine.schedule(0)) == [(1, 16)]


def test_capabilities_that_the_engine_lacks_are_refused_by_name():
    class Asking(Broken):
        capabilities = frozenset({Capability.VICTIM_RANK, Capability.RUNNING_CAP})

    with pytest.raises(InputError, match="policy 'broken' needs running_cap, which"):
        Scheduler(Asking([]), Limits(64))
    with pytest.raises(InputError, match="policy 'broken' needs running_cap, victim_rank, which"):
        refuse_unsupported(Asking([]))  # an engine has to say that it can evict in an order


def test_remaining_times_need_their_source():
    with pytest.raises(ValueError, match="need a prefill_time"):
        Scheduler(make_policy("peek"), Limits(64))
    with pytest.raises(ValueError, match="need a prefill_time"):
        Scheduler(make_policy("lpm"), Limits(64, eviction="pgdsf"))


def test_two_orders_of_eviction_are_refused():
    with pytest.raises(InputError, match="policy 'peek' says which blocks to evict, and eviction 'pgdsf' too"):
        scheduler("peek", eviction="pgdsf")


def test_declared_capabilities_are_served():
    heard = []

    class Listening(Broken):
        capabilities = frozenset({Capability.ON_ARRIVAL, Capability.ON_HOOK, Capability.ON_ADMIT, Capability.ON_STEP})

        def on_arrival(self, request_id):
            heard.append(("arrival", request_id))

        def on_hook(self, view):
            heard.append(("hook", view.request_id.tolist()))

        def on_admit(self, request_id):
            heard.append(("admit", request_id))

        def on_step(self, executed_tokens):
            heard.append(("step", executed_tokens))

    engine = Scheduler(Listening([0]), Limits(64))
    engine.submit(request(3, [1]))
    engine.schedule(0)
    assert heard == [("arrival", 3), ("hook", [3]), ("admit", 3), ("step", 16)]


def test_klpm_counts_admissions_over_steps():
    engine = scheduler("klpm-2", budget_tokens=16)
    engine.submit(request(0, [1]))
    run_step(engine)
    assert engine.policy.memory.admissions == 1
    engine.submit(request(1, [5]))
    engine.submit(request(2, [1], tail_tokens=1))  # the longest hit, but every second admission takes the oldest
    assert chunks(run_step(engine)) == [(1, 16)]


@pytest.mark.parametrize("sizes", [{"cache_blocks": 1}, {"cache_blocks": 9, "budget_tokens": 0}])
def test_sizes_that_make_no_engine_are_refused(sizes):
    with pytest.raises(InputError, match="give at least"):
        Limits(**sizes)


def test_an_unknown_eviction_is_refused():
    with pytest.raises(InputError, match="choose from lru, pgdsf"):
        Limits(64, eviction="fifo")


@pytest.mark.parametrize("observed", [False, True])
def test_a_hook_is_told_once_however_often_its_order_is_asked_for(observed):
    hooks = []

    class Counting(Broken):
        capabilities = frozenset({Capability.ON_HOOK})

        def on_hook(self, view):
            hooks.append(view.now_ns)

    engine = Scheduler(Counting([0]), Limits(64), (lambda step, view, policy: policy.order(view)) if observed else None)
    engine.submit(request(0, [1]))
    run_step(engine, 5)
    run_step(engine, 6)
    assert hooks == [5], "no hook where nobody waits"


def test_the_remaining_time_follows_the_hit():
    asked = []

    class Seeing(Broken):
        columns = frozenset({Column.HIT_TOKENS, Column.REMAINING_NS})

        def order(self, view):
            asked.append(view.remaining_ns.tolist())
            return iter(range(len(view)))

    engine = Scheduler(Seeing([]), Limits(64, budget_tokens=32), prefill_time=lambda n, h: 1000 * n + h)
    engine.submit(request(0, [1, 2, 3]))
    engine.submit(request(1, [1, 2, 4, 5]))
    run_step(engine)
    run_step(engine)
    assert asked == [[48_000, 64_000], [64_032]]


def test_the_worked_example_step_by_step():
    """M (6,000 uncached, oldest) and ten hits of 6,000 cached and 300 new tokens, budget 2,048."""
    engine = scheduler("fairway", cache_blocks=2000)
    cached = list(range(375))
    engine.submit(request(99, cached))
    now_ns = 0
    while engine.has_work:
        run_step(engine, now_ns)
        now_ns += 1
    engine.submit(request(0, range(5000, 5375), arrival_ns=now_ns))
    for index in range(1, 11):
        engine.submit(request(index, [*cached, *range(index * 100, index * 100 + 18)], 12, arrival_ns=now_ns))
    assert chunks(run_step(engine, now_ns)) == [*((index, 300) for index in range(1, 6)), (0, 548)]
    assert chunks(run_step(engine, now_ns + 1))[0] == (0, 2048)


def test_policies_of_one_name_do_not_share_state():
    assert make_policy("klpm-4") is not make_policy("klpm-4")

"""Orders of eviction: worked examples, their definitions read plainly, and what they must never break."""

from contextlib import suppress
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.conftest import arrivals, prefill_time, prompt, request, scheduler

from fairway.cache import EvictingPool, Eviction, Pgdsf, SparedPrefixes
from fairway.engine import Limits, Scheduler, UnservableError
from fairway.policies import make_policy


def hashes(*content):
    return prompt(*content)[1]


def finish(engine, *requests, now_ns=0):
    """Run requests one by one; return what each one's steps evicted."""
    evicted = []
    for one in requests:
        engine.submit(one)
        gone = []
        while engine.has_work:
            step = engine.schedule(now_ns)
            gone += step.evicted
            engine.complete(step, now_ns + 1)
        evicted.append(gone)
    return evicted


# what the queue needs is spared


def test_unneeded_blocks_go_first_then_the_worst_wanters():
    spared = SparedPrefixes()
    spared.spare([[10], [10, 11], [20, 21]])
    hash_of = [None, 11, 10, 21, 20, 30, None, 31]
    free = [6, 1, 2, 3, 4, 5, 7]  # least recently used first
    assert spared.victims(3, free, hash_of) == [6, 5, 7]
    assert spared.victims(7, free, hash_of) == [6, 5, 7, 3, 4, 1, 2], "rank 2 twice, least recently used first; 1; 0"
    spared.spare(())
    assert spared.victims(3, free, hash_of) == [6, 1, 2], "nothing is needed: least recently used first"


def test_every_copy_of_a_needed_content_is_spared():
    spared = SparedPrefixes()
    spared.spare([[10]])
    assert spared.victims(3, [1, 2, 3], [None, 10, 30, 10]) == [2, 1, 3]


@given(
    st.lists(st.lists(st.integers(1, 2), max_size=4), max_size=6),
    st.lists(st.one_of(st.none(), st.lists(st.integers(1, 2), min_size=1, max_size=4)), max_size=12),
    st.data(),
)
def test_spared_prefixes_against_a_plain_reading(wanted, contents, data):
    hash_of = [None, *(hashes(*content)[-1] if content else None for content in contents)]
    free = data.draw(st.permutations(range(1, len(hash_of))))
    count = data.draw(st.integers(0, len(free)))
    spared = SparedPrefixes()
    spared.spare([hashes(*prefix) for prefix in wanted])

    def worth(block):
        ranks = [rank for rank, prefix in enumerate(wanted) if hash_of[block] in hashes(*prefix)]
        return -min(ranks) if ranks else float("-inf")

    assert spared.victims(count, free, hash_of) == sorted(free, key=worth)[:count]


def test_peek_by_hand_in_an_engine():
    """Eight blocks: A (3), then B (4), both cached; a miss of 4 needs 3 of them."""
    evicted = {}
    for policy in ("peek", "lpm"):
        engine = scheduler(policy, cache_blocks=9, budget_tokens=16)
        finish(engine, request(0, [1, 2, 3]), request(1, [4, 5, 6, 7]))
        wanting = request(3, [1, 2, 3], tail_tokens=4, arrival_ns=2)
        running = request(2, [20, 21, 22, 23], arrival_ns=1)
        engine.submit(running)
        engine.complete(engine.schedule(1), 2)  # the miss takes the blank block and runs on
        engine.submit(wanting)
        gone = []
        for now_ns in (2, 3, 4):  # the miss fills every step, one block each; the other waits
            step = engine.schedule(now_ns)
            assert [chunk.request.request_id for chunk in step.chunks] == [2]
            gone += step.evicted
            engine.complete(step, now_ns + 1)
        evicted[policy] = gone
    assert evicted["lpm"] == list(reversed(hashes(1, 2, 3)))
    assert evicted["peek"] == list(reversed(hashes(4, 5, 6, 7)[1:]))


def test_a_cached_block_beyond_the_hit_is_not_needed():
    engine = scheduler("peek", cache_blocks=9, budget_tokens=16)
    finish(engine, request(0, [1, 2, 3]), request(1, [4, 5, 6, 7]))
    engine.submit(request(2, [20, 21, 22, 23], arrival_ns=1))
    engine.complete(engine.schedule(1), 2)
    engine.submit(request(3, [1, 2, 3], arrival_ns=2))  # hits two blocks, since it has to compute a token
    assert engine.schedule(2).evicted == [hashes(1, 2, 3)[2]]


def test_needed_prefixes_change_with_the_queue():
    engine = scheduler("peek", cache_blocks=9, budget_tokens=16)
    finish(engine, request(0, [1, 2, 3]), request(1, [4, 5, 6, 7]))
    engine.submit(request(2, [20, 21, 22, 23], arrival_ns=1))
    engine.complete(engine.schedule(1), 2)
    wanting = request(3, [1, 2, 3], tail_tokens=4, arrival_ns=2)
    engine.submit(wanting)
    assert engine.schedule(2).evicted == [hashes(4, 5, 6, 7)[3]]
    engine.abort(wanting)
    assert engine.schedule(3).evicted == [hashes(1, 2, 3)[2]], "nobody waits: least recently used"


# PGDSF


def test_pgdsf_keeps_what_is_used_often_and_dear_to_compute():
    pgdsf = Pgdsf()
    pool = EvictingPool(5, pgdsf)
    for content, uses, cost_ns in ((10, 1, 100.0), (20, 3, 50.0), (30, 1, 120.0), (40, 2, 50.0)):
        pgdsf.used([content], hit_blocks=0, cost_ns=cost_ns)
        for _ in range(uses - 1):
            pgdsf.used([content], hit_blocks=1, cost_ns=1.0)
        blocks = pool.allocate(1)
        pool.register(blocks[0], content)
        pool.release(blocks)
    pool.allocate(2)
    assert pool.take_evicted() == [10, 40], "100 and 2 x 50 tie: least recently used; then 3 x 50 = 150, 120"
    pgdsf.used([50], hit_blocks=0, cost_ns=30.0)
    assert pgdsf._contents[50].priority == 130.0, "the clock is at 100"
    pool.allocate(2)
    assert pool.take_evicted() == [30, 20]


def test_pgdsf_takes_the_mean_cost_of_the_computations():
    pgdsf = Pgdsf()
    pgdsf.used([1, 2], hit_blocks=0, cost_ns=100.0)
    pgdsf.used([1, 2], hit_blocks=1, cost_ns=40.0)
    assert pgdsf._contents[1].priority == 2 * 100.0
    assert pgdsf._contents[2].priority == 2 * 70.0


def test_an_engine_tells_pgdsf_what_was_computed_and_at_what_cost():
    engine = scheduler("fcfs", eviction="pgdsf")
    finish(engine, request(0, [1, 2, 3]), request(1, [1, 2], tail_tokens=4))
    first, _, third = (engine._pgdsf._contents[content] for content in hashes(1, 2, 3))
    assert (first.frequency, first.computations, third.frequency) == (2, 1, 1)
    assert first.cost_ns == third.cost_ns == prefill_time(48, 0) / 48


def test_pgdsf_frees_a_prefix_only_behind_its_suffixes():
    engine = scheduler("fcfs", cache_blocks=5, eviction="pgdsf")
    finish(engine, request(0, [1, 2, 3]), request(1, [1, 2], tail_tokens=1), request(2, [1, 2], tail_tokens=1))
    (gone,) = finish(engine, request(3, [7, 8, 9, 10]))
    assert gone == list(reversed(hashes(1, 2, 3)))


def test_pgdsf_takes_a_dear_suffix_before_its_cheap_prefix():
    pgdsf = Pgdsf()
    pool = EvictingPool(4, pgdsf)
    blocks = pool.allocate(3)
    pgdsf.used([1], hit_blocks=0, cost_ns=100.0)
    pgdsf.used([1, 2], hit_blocks=1, cost_ns=1000.0)  # a few tokens behind a long prefix are dear, each
    pgdsf.used([9], hit_blocks=0, cost_ns=500.0)
    for block, content, parent in zip(blocks, (1, 2, 9), (None, 1, None), strict=True):
        pool.register(block, content, parent)
    pool.release(blocks)
    pool.allocate(3)
    assert pool.take_evicted() == [9, 2, 1], "1 has the lowest priority, 200, and may go only behind 2, of 1000"


def test_pgdsf_lets_one_of_several_copies_go_at_any_time():
    pgdsf = Pgdsf()
    pool = EvictingPool(5, pgdsf)
    held, others = pool.allocate(2), pool.allocate(2)
    pgdsf.used([1, 2], hit_blocks=0, cost_ns=100.0)
    for blocks in (held, others):
        pool.register(blocks[0], 1)
        pool.register(blocks[1], 2, 1)
    pool.release(others[:1])
    assert pool.allocate(1) == others[:1], "2 is held, in two copies, behind 1"
    assert pool.resident[1] == held[:1]


def test_pgdsf_ties_go_least_recently_used_first():
    pgdsf = Pgdsf()
    pool = EvictingPool(5, pgdsf)
    first, second = pool.allocate(2), pool.allocate(2)
    pgdsf.used([1, 2], hit_blocks=0, cost_ns=100.0)
    for blocks in (first, second):
        pool.register(blocks[0], 1)
        pool.register(blocks[1], 2, 1)
    for blocks in (first, second):
        pool.release(blocks)
    free = pool.free_list()
    assert free == [*reversed(first), *reversed(second)]
    assert pool.allocate(4) == free


def test_pgdsf_hears_of_a_copy_that_lets_another_go():
    pgdsf = Pgdsf()
    pool = EvictingPool(4, pgdsf)
    blocks = pool.allocate(2)
    pgdsf.used([1, 2], hit_blocks=0, cost_ns=100.0)
    pool.register(blocks[0], 1)
    pool.register(blocks[1], 2, 1)
    pool.release(blocks[:1])  # free, and not to go: 2 is held behind it
    pgdsf.used([9], hit_blocks=0, cost_ns=900.0)
    dear = pool.allocate(1)
    pool.register(dear[0], 9)
    pool.release(dear)
    assert pool.allocate(1) == dear
    pool.register(dear[0], 1)  # a copy: now the first one may go
    assert pool.allocate(1) == blocks[:1]


class PlainPgdsf(Eviction):
    """By the letter of the definition, with a look at every free block for each victim."""

    def __init__(self):
        self.clock, self.frequency, self.costs, self.priority, self.parent, self.copies = 0.0, {}, {}, {}, {}, {}

    def used(self, prefix, hit_blocks, cost_ns):
        for index, content in enumerate(prefix):
            self.frequency[content] = self.frequency.get(content, 0) + 1
            costs = self.costs.setdefault(content, [])
            if index >= hit_blocks:
                costs.append(cost_ns)
            mean = sum(costs) / max(1, len(costs))
            self.priority[content] = self.clock + self.frequency[content] * mean

    def registered(self, block, block_hash, parent_hash):
        self.copies[block_hash] = self.copies.get(block_hash, 0) + 1
        self.parent[block_hash] = parent_hash

    def victims(self, count, free, hash_of):
        left, chosen = list(free), []
        for _ in range(count):
            blank = [block for block in left if hash_of[block] is None]
            victim = (
                blank[0] if blank else min(filter(lambda b: self.may_go(hash_of[b]), left), key=self.worth(hash_of))
            )
            left.remove(victim)
            chosen.append(victim)
            if not blank:
                self.clock = max(self.clock, self.priority.get(hash_of[victim], 0.0))
                self.copies[hash_of[victim]] -= 1
        return chosen

    def may_go(self, content):
        has_child = any(copies and self.parent[other] == content for other, copies in self.copies.items())
        return self.copies[content] > 1 or not has_child

    def worth(self, hash_of):
        return lambda block: self.priority.get(hash_of[block], 0.0)  # ``min`` takes the first: least recently used


trees = st.lists(st.integers(1, 2), min_size=1, max_size=6)
rows_of_trees = st.lists(
    st.tuples(st.tuples(trees, st.integers(0, 15)), st.just(0), st.integers(1, 3)), min_size=20, max_size=40
)


@given(
    st.one_of(arrivals, rows_of_trees),
    st.sampled_from([6, 8, 12, 24]),
    st.sampled_from([17, 48, 2048]),
    st.sampled_from(["fcfs", "lpm"]),
)
def test_pgdsf_against_a_plain_reading(rows, cache_blocks, budget_tokens, policy):
    def evictions():
        engine = Scheduler(
            make_policy(policy), Limits(cache_blocks, budget_tokens, eviction="pgdsf"), prefill_time=prefill_time
        )
        gone, now_ns = [], 0
        for index, ((content, tail), _, output) in enumerate(rows):
            with suppress(UnservableError):
                engine.submit(request(index, content, tail, now_ns, output_tokens=output))
            while engine.has_work and (index % 3 or index == len(rows) - 1):
                step = engine.schedule(now_ns)
                gone.append(step.evicted)
                engine.complete(step, now_ns + 1)
                now_ns += 2
        return gone

    expected = evictions()
    with mock.patch("fairway.engine.scheduler.Pgdsf", PlainPgdsf):
        assert evictions() == expected


def test_the_mix_meets_victims_that_differ_from_lru():
    def evicted(policy, **options):
        engine = scheduler(policy, cache_blocks=14, **options)
        return finish(engine, *(request(one, [1, 2, 3 + one % 2, *range(5 * one % 7, 9)], 3) for one in range(30)))

    assert evicted("fcfs", eviction="pgdsf") != evicted("fcfs")


@pytest.mark.parametrize("eviction", ["lru", "pgdsf"])
def test_a_run_gives_the_same_evictions_twice(eviction):
    def evicted():
        engine = scheduler("lpm", cache_blocks=14, eviction=eviction)
        return finish(engine, *(request(one, [1, 2, 3 + one % 2, *range(5 * one % 7, 9)], 3) for one in range(30)))

    assert evicted() == evicted()

"""The reuse index equals a full walk after every batch, whatever comes, goes, is stored, evicted or reset."""

import gc
import random
import tracemalloc
import weakref

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from fairway.reuse import ClosureError, ReuseIndex
from fairway.reuse import index as index_module
from fairway.reuse.slots import SlotSet
from fairway.reuse.tree import PrefixTree, Segment

contents = st.lists(st.integers(1, 2), max_size=9).map(tuple)
picks = st.integers(0, 999)  # which one, of however many there are


def chain_of(content):
    """Name each block by its whole prefix: equal names mean equal prefixes."""
    return [content[: end + 1] for end in range(len(content))]


class Cache:
    """Copies of contents by name, closed as the engine's cache is: prefixes come first and go last."""

    def __init__(self):
        self.copies = {}
        self.changed = []

    def __contains__(self, name):
        return name in self.copies

    def store(self, content):
        """Store what is missing of a prompt, and one more copy of its last block if nothing is."""
        chain = chain_of(content)
        for name in [one for one in chain if one not in self.copies] or chain[-1:]:
            self.copies[name] = self.copies.get(name, 0) + 1
            self.changed.append(name)

    def evict(self, name):
        """Let one copy go."""
        self.copies[name] -= 1
        if not self.copies[name]:
            del self.copies[name]
        self.changed.append(name)

    def evictable(self):
        """Return what may lose a copy: all that have several or nothing behind them."""
        return [one for one, copies in self.copies.items() if copies > 1 or not self.has_child(one)]

    def has_child(self, name):
        return any((*name, more) in self.copies for more in (1, 2))


class IndexMachine(RuleBasedStateMachine):
    """Requests and contents come and go between updates; every update makes all hits exact."""

    def __init__(self):
        super().__init__()
        self.cache = Cache()
        self.index = ReuseIndex(self.cache)
        self.waiting = {}  # slot -> (chain, blocks)

    @rule(content=contents, short=st.integers(0, 2))
    def add(self, content, short):
        self.let_wait(chain_of(content), max(0, len(content) - short))

    @precondition(lambda self: self.waiting)
    @rule(pick=picks, short=st.integers(0, 9))
    def add_twin(self, pick, short):
        """Add a request with the same prompt as another, or a prefix of it."""
        chain, blocks = self.waiting[self.picked(pick)]
        self.let_wait(list(chain), max(0, blocks - short))

    @precondition(lambda self: self.waiting)
    @rule(pick=picks)
    def remove(self, pick):
        slot = self.picked(pick)
        del self.waiting[slot]
        self.index.remove(slot)

    @rule(content=contents)
    def store(self, content):
        self.cache.store(content)

    @precondition(lambda self: self.waiting)
    @rule(pick=picks)
    def store_what_waits(self, pick):
        chain, _ = self.waiting[self.picked(pick)]
        self.cache.store(chain[-1] if chain else ())

    @rule(pick=picks, most=st.integers(1, 5))
    def evict(self, pick, most):
        for _ in range(most):
            evictable = sorted(self.cache.evictable())
            if evictable:
                self.cache.evict(evictable[pick % len(evictable)])

    @rule()
    def reset(self):
        self.cache = Cache()
        self.index.reset(self.cache)

    @rule()
    def update(self):
        changed, self.cache.changed = self.cache.changed, []
        self.index.update(changed)
        hits = {slot: int(self.index.hit_tokens[slot]) for slot in self.waiting}
        assert hits == {slot: walk(self.cache, *prompt) for slot, prompt in self.waiting.items()}

    def let_wait(self, chain, blocks):
        slot = next(slot for slot in range(len(self.waiting) + 1) if slot not in self.waiting)
        self.waiting[slot] = chain, blocks
        self.index.add(slot, chain, blocks)

    def picked(self, pick):
        return sorted(self.waiting)[pick % len(self.waiting)]

    def teardown(self):
        self.update()
        for slot in list(self.waiting):
            self.waiting.pop(slot)
            self.index.remove(slot)
        assert list(segments(self.index)) == [], "nothing is kept of those who left"
        assert self.index._tree._watched == {}

    @invariant()
    def at_most_two_segments_a_request(self):
        assert len(list(segments(self.index))) <= 2 * len(self.waiting)


def walk(resident, chain, blocks):
    hit = 0
    while hit < blocks and chain[hit] in resident:
        hit += 1
    return hit


def segments(index):
    """Yield all segments but the root."""
    below = list(index._tree._root.children.values())
    while below:
        one = below.pop()
        yield one
        below += one.children.values()


TestIndex = IndexMachine.TestCase
TestIndex.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


@pytest.mark.slow
def test_many_more():
    run_state_machine_as_test(IndexMachine, settings=settings(max_examples=3000, stateful_step_count=60, deadline=None))


# faults planted in the index


def evictions_go_unnoticed(patch):
    def watch(self, segment):
        if segment.frontier < segment.end:
            self._watched[segment.chain[segment.frontier]] = segment

    patch(PrefixTree, "_watch", watch)
    patch(PrefixTree, "_unwatch", lambda self, segment: None)


def stored_blocks_go_unnoticed(patch):
    def watch(self, segment):
        if segment.frontier > segment.start:
            self._watched[segment.chain[segment.frontier - 1]] = segment

    patch(PrefixTree, "_watch", watch)
    patch(PrefixTree, "_unwatch", lambda self, segment: None)


def old_places_stay_watched(patch):
    patch(PrefixTree, "_unwatch", lambda self, segment: None)


def one_of_a_group_is_told(patch):
    patch(SlotSet, "as_array", lambda self, original=SlotSet.as_array: original(self)[:1])


def who_left_stays_a_member(patch):
    def remove(self, slot):
        if len(self) == 1:
            self._slots.pop()

    patch(SlotSet, "remove", remove)


def a_cut_leaves_its_members_behind(patch):
    patch(SlotSet, "copy", lambda self: SlotSet())


def a_cut_forgets_what_is_resident(patch):
    def cut(self, segment, block, original=PrefixTree._cut):
        if segment.frontier > block:
            self.move_frontier(segment, block)
        return original(self, segment, block)

    patch(PrefixTree, "_cut", cut)


def a_join_forgets_the_child(patch):
    def join(self, segment, original=PrefixTree._join_only_child):
        for child in segment.children.values():
            if len(segment.children) == 1 and len(child.members) == len(segment.members):
                self.move_frontier(child, child.start)
        original(self, segment)

    patch(PrefixTree, "_join_only_child", join)


def children_come_before_parents(patch):
    patch(PrefixTree, "touched_by", lambda self, keys, original=PrefixTree.touched_by: original(self, keys)[::-1])


def a_frontier_only_advances(patch):
    def moved(resident, chain, start, end, before):
        return before + walk(resident, chain[before:], end - before)

    patch(index_module, "moved_frontier", moved)


def a_frontier_advances_by_one(patch):
    def moved(resident, chain, start, end, before, original=index_module.moved_frontier):
        return min(original(resident, chain, start, end, before), before + 1)

    patch(index_module, "moved_frontier", moved)


def a_newcomer_hits_nothing(patch):
    patch(Segment, "hit_blocks", property(lambda self: self.start))


def a_newcomer_hits_its_last_segment_alone(patch):
    patch(Segment, "hit_blocks", property(lambda self: self.frontier))


def a_reset_forgets_who_waits(patch):
    def reset(self, resident):
        self._resident = resident

    patch(ReuseIndex, "reset", reset)


FAULTS = [
    evictions_go_unnoticed,
    stored_blocks_go_unnoticed,
    old_places_stay_watched,
    one_of_a_group_is_told,
    who_left_stays_a_member,
    a_cut_leaves_its_members_behind,
    a_cut_forgets_what_is_resident,
    a_join_forgets_the_child,
    children_come_before_parents,
    a_frontier_only_advances,
    a_frontier_advances_by_one,
    a_newcomer_hits_nothing,
    a_newcomer_hits_its_last_segment_alone,
    a_reset_forgets_who_waits,
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_is_found(fault, monkeypatch):
    fault(monkeypatch.setattr)
    with pytest.raises((AssertionError, LookupError, ClosureError)):  # a wrong hit, or what such an index raises
        for seed in range(200):
            drive(random.Random(seed))


def test_without_a_fault_nothing_is_found():
    for seed in range(200):
        drive(random.Random(seed))


def drive(draw):
    """Take forty steps at random."""
    machine = IndexMachine()
    for _ in range(40):
        step_at_random(machine, draw)
    machine.teardown()


def step_at_random(machine, draw):
    content, pick = tuple(draw.choices([1, 2], k=draw.randint(0, 9))), draw.randint(0, 999)
    steps = [
        lambda: machine.add(content=content, short=pick % 3),
        lambda: machine.store(content=content),
        lambda: machine.evict(pick=pick, most=1 + pick % 5),
        machine.update,
    ]
    if machine.waiting:
        steps += [
            lambda: machine.add_twin(pick=pick, short=pick % 10),
            lambda: machine.remove(pick=pick),
            lambda: machine.store_what_waits(pick=pick),
        ]
    draw.choice([*steps, machine.reset] if draw.random() < 0.2 else steps)()


# closure


def test_a_cached_block_without_its_predecessor_is_told_and_a_reset_mends_it():
    cache = Cache()
    index = ReuseIndex(cache)
    index.add(0, chain_of((1, 1, 1)), 3)
    index.add(1, chain_of((1, 2, 1)), 3)
    index.update([])
    cache.copies[1, 2] = 1
    with pytest.raises(ClosureError, match="block 1 of a waiting request is cached, block 0 is not"):
        index.update([(1, 2)])
    index.remove(0)
    index.add(0, chain_of((2,)), 1)
    whole = Cache()
    whole.store((1, 2))
    index.reset(whole)
    index.update([])
    assert index.hit_tokens[:2].tolist() == [0, 2]


def test_a_newcomer_behind_a_gap_is_told():
    cache = Cache()
    index = ReuseIndex(cache)
    index.add(0, chain_of((1, 1)), 1)
    index.update([])
    cache.copies[1, 2] = 1
    index.add(1, chain_of((1, 2)), 2)
    with pytest.raises(ClosureError):
        index.update([])


# cost and memory


class Counting(list):
    """A chain that counts how often it is read."""

    reads = 0

    def __getitem__(self, block):
        Counting.reads += 1
        return super().__getitem__(block)


def document_and_questions(document, requests, document_blocks=600, question_blocks=20):
    """Chains of questions behind one document; hashes are whole numbers, equal for equal prefixes."""
    first = document * 1_000_000
    shared = list(range(first, first + document_blocks))
    for request in range(requests):
        own = first + 100_000 + 100 * request
        yield Counting([*shared, *range(own, own + question_blocks)])


@pytest.mark.parametrize("requests", [10, 5000])
def test_requests_on_one_document_move_as_one(requests):
    resident = set()
    index = ReuseIndex(resident)
    for slot, chain in enumerate(document_and_questions(0, requests)):
        index.add(slot, chain, 620)
    index.update([])
    for stored in range(0, 600, 128):
        chunk = range(stored, min(stored + 128, 600))
        resident.update(chunk)
        Counting.reads = 0
        index.update(list(chunk))
        assert set(index.hit_tokens[:requests].tolist()) == {chunk[-1] + 1}
        assert Counting.reads <= 40, "the same however many wait"
    for evicted in reversed(range(590, 600)):
        resident.remove(evicted)
    index.update(list(range(590, 600)))
    assert set(index.hit_tokens[:requests].tolist()) == {590}


def test_who_left_leaves_nothing_behind():
    """Fifty wait at a time, ten thousand pass through, the oldest of all stays."""
    index = ReuseIndex(frozenset())
    chains = {}

    def replace(slot, document):
        if slot in chains:
            index.remove(slot)
        (chains[slot],) = document_and_questions(document, 1, document_blocks=30, question_blocks=3)
        index.add(slot, chains[slot], 33)
        index.update([])

    for slot in range(50):
        replace(slot, slot % 7)
    tracemalloc.start()
    try:
        for turn in range(10_000):
            replace(1 + turn % 49, turn % 300)
            if turn == 1000:
                before = tracemalloc.get_traced_memory()[0]
        assert tracemalloc.get_traced_memory()[0] < 1.2 * before
    finally:
        tracemalloc.stop()


def test_the_chain_of_who_left_is_let_go():
    index = ReuseIndex(frozenset())
    chains = list(document_and_questions(0, 3))
    for slot, chain in enumerate(chains):
        index.add(slot, chain, 620)
    index.update([])
    gone = weakref.ref(chains[0])
    index.remove(0)
    del chains[0], chain
    gc.collect()
    assert gone() is None

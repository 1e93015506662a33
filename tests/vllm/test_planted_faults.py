"""Faults planted in the readable engine, at least one per rule of a step: the comparison finds each of them."""

import pytest

from fairway.cache import BlockPool, EvictingPool
from fairway.engine import Limits, Scheduler, Step
from fairway.engine.scheduler import Chunk
from fairway.parity import FAILED, compare, random_case, read_case, shrink, write_case

MOST_CASES = 60  # random ones, from seed 0 on, until the fault is found


def newest_copy_is_hit(patch):
    def longest_hit(self, chain, limit):
        resident = []
        for block_hash in chain[:limit]:
            if block_hash not in self._copies:
                break
            resident.append(self._copies[block_hash][-1])
        return resident

    patch(BlockPool, "longest_hit", longest_hit)


def copies_are_merged(patch):
    register = BlockPool.register

    def register_first(self, block, key, parent=None):
        if key not in self._copies:
            register(self, block, key, parent)

    patch(BlockPool, "register", register_first)


def blocks_are_freed_first_to_last(patch):
    release = BlockPool.release
    patch(BlockPool, "release", lambda self, blocks: release(self, blocks[::-1]))


def an_unfinished_block_goes_to_the_end_of_the_free_list(patch):
    def release(self, blocks):
        for block in reversed(blocks):
            self._references[block] -= 1
            if not self._references[block]:
                self._free[block] = None

    patch(BlockPool, "release", release)


def the_null_block_is_used(patch):
    start = BlockPool.__init__

    def with_one_more(self, blocks):
        start(self, blocks)
        self._free[0] = None

    patch(BlockPool, "__init__", with_one_more)


def a_hit_stays_in_the_free_list(patch):
    def fits(self, one, hit):
        return self._blocks_for(one.n_tokens) - len(hit) <= self.pool.free_blocks

    patch(Scheduler, "_fits_whole", fits)


def only_the_chunk_has_to_fit(patch):
    def fits(self, one, hit):
        chunk_tokens = min(one.n_tokens, len(hit) * self.limits.block_tokens + self.limits.budget_tokens)
        missing = self._blocks_for(chunk_tokens) - len(hit)
        return missing <= self.pool.free_blocks - self.pool.unreferenced(hit)

    patch(Scheduler, "_fits_whole", fits)


def the_whole_prompt_may_hit(patch):
    def hit_limit_blocks(self, one):
        blocks = one.n_tokens // self.limits.block_tokens
        return blocks if one.n_tokens % self.limits.block_tokens else max(blocks - 1, 1)

    patch(Scheduler, "_hit_limit_blocks", hit_limit_blocks)


def generated_blocks_are_shared(patch):
    patch(Scheduler, "_generated_hash", lambda self, one: -len(one.chain) - 1)


def a_step_that_preempts_admits_too(patch):
    def schedule(self, now_ns, original=Scheduler.schedule):
        step = original(self, now_ns)
        if step.preempted and len(self.waiting):
            self._admit(step, iter(range(len(self.waiting))), self.limits.budget_tokens - step.new_tokens)
        return step

    patch(Scheduler, "schedule", schedule)


def the_first_running_request_is_preempted(patch):
    def make_room(self, step, one, new_tokens):
        needed = self._blocks_for(one.computed_tokens + new_tokens) - len(one.blocks)
        while needed > self.pool.free_blocks:
            victim = self.running.pop(0)
            self._preempt(step, victim)
            if victim is one:
                return False
        return True

    patch(Scheduler, "_make_room", make_room)


def a_preempted_request_forgets_what_it_generated(patch):
    def preempt(self, step, victim, original=Scheduler._preempt):
        victim.emitted_tokens = 0
        original(self, step, victim)

    patch(Scheduler, "_preempt", preempt)


def a_request_that_does_not_fit_is_passed_over(patch):
    def admit(self, step, order, budget_tokens, original=Scheduler._admit):
        waiting, limit = self.waiting.requests, self._hit_limit_blocks
        fitting = (
            place
            for place in order
            if self._fits_whole(waiting[place], self.pool.longest_hit(waiting[place].chain, limit(waiting[place])))
        )
        original(self, step, fitting, budget_tokens)

    patch(Scheduler, "_admit", admit)


def one_request_more_may_run(patch):
    def admit(self, step, order, budget_tokens, original=Scheduler._admit):
        limits = self.limits
        self.limits = Limits(limits.cache_blocks, limits.budget_tokens, limits.max_num_seqs + 1, limits.block_tokens)
        original(self, step, order, budget_tokens)
        self.limits = limits

    patch(Scheduler, "_admit", admit)


def blocks_are_registered_when_the_step_is_over(patch):
    def run_chunk(self, step, one, new_tokens):
        one.computed_tokens += new_tokens
        one.blocks += self.pool.allocate(self._blocks_for(one.computed_tokens) - len(one.blocks))
        step.chunks.append(Chunk(one, new_tokens, one.computed_tokens))

    def complete(self, step, now_ns, original=Scheduler.complete):
        for chunk in step.chunks:
            one = chunk.request
            full = one.computed_tokens // self.limits.block_tokens
            for place in range(one.registered_blocks, full):
                self.pool.register(one.blocks[place], one.chain[place])
            one.registered_blocks = max(full, one.registered_blocks)
        return original(self, step, now_ns)

    patch(Scheduler, "_run_chunk", run_chunk)
    patch(Scheduler, "complete", complete)


def the_order_uses_hits_of_the_step_before(patch):
    def refresh(self, original=Scheduler._refresh_hits):
        if self._steps % 2:
            original(self)

    patch(Scheduler, "_refresh_hits", refresh)


def waiting_requests_come_before_running_ones(patch):
    def schedule(self, now_ns):
        step = Step(self._steps, now_ns)
        self._steps += 1
        running, self.running = self.running, list(self.running)
        self._admit(step, self._ordered_queue(step), self.limits.budget_tokens)
        admitted, self.running = self.running[len(running) :], running
        self._extend_running(step, self.limits.budget_tokens - step.new_tokens)
        self.running += admitted
        step.evicted = self.pool.take_evicted()
        return step

    patch(Scheduler, "schedule", schedule)


def needed_blocks_are_not_spared(patch):
    patch(EvictingPool, "_take_free", BlockPool._take_free)


def victims_are_forgotten_in_the_order_of_the_free_list(patch):
    def take_free(self, count, original=EvictingPool._take_free):
        order = {block: place for place, block in enumerate(self._free)}
        return sorted(original(self, count), key=order.get)

    patch(EvictingPool, "_take_free", take_free)


def what_was_spared_stays_spared(patch):
    def ordered_queue(self, step, original=Scheduler._ordered_queue):
        if len(self.waiting) or self._spared is None:
            return original(self, step)
        return iter(())

    patch(Scheduler, "_ordered_queue", ordered_queue)


def a_policy_does_not_hear_of_hooks(patch):
    def ordered_queue(self, step, original=Scheduler._ordered_queue):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("fairway.engine.scheduler.tell_of_hook", lambda policy, view: None)
            return original(self, step)

    patch(Scheduler, "_ordered_queue", ordered_queue)


FAULTS = [
    newest_copy_is_hit,
    copies_are_merged,
    blocks_are_freed_first_to_last,
    an_unfinished_block_goes_to_the_end_of_the_free_list,
    the_null_block_is_used,
    a_hit_stays_in_the_free_list,
    only_the_chunk_has_to_fit,
    the_whole_prompt_may_hit,
    generated_blocks_are_shared,
    a_step_that_preempts_admits_too,
    the_first_running_request_is_preempted,
    a_preempted_request_forgets_what_it_generated,
    a_request_that_does_not_fit_is_passed_over,
    one_request_more_may_run,
    blocks_are_registered_when_the_step_is_over,
    the_order_uses_hits_of_the_step_before,
    waiting_requests_come_before_running_ones,
]


FAULTS_OF_POLICIES = [
    (needed_blocks_are_not_spared, "peek"),
    (victims_are_forgotten_in_the_order_of_the_free_list, "peek"),
    (what_was_spared_stays_spared, "peek"),
    (a_policy_does_not_hear_of_hooks, "lpm-aging"),
    (a_policy_does_not_hear_of_hooks, "preble"),
]


def differences(cases=MOST_CASES, policies=("fcfs", "lpm")):
    """Yield (case, policy, difference) of random cases."""
    for seed in range(cases):
        for policy in policies:
            case = random_case(seed)
            difference = compare(case, policy).difference
            if difference is not None:
                yield case, policy, difference


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_is_found(fault, monkeypatch):
    fault(monkeypatch.setattr)
    difference = next(found for _, _, found in differences() if found.what != FAILED)
    assert difference.readable != difference.vllm


@pytest.mark.parametrize(("fault", "policy"), FAULTS_OF_POLICIES)
def test_a_fault_in_what_a_policy_may_ask_is_found(fault, policy, monkeypatch):
    fault(monkeypatch.setattr)
    difference = next(found for _, _, found in differences(policies=[policy]) if found.what != FAILED)
    assert difference.readable != difference.vllm


@pytest.mark.parametrize(
    ("fault", "most_requests"),
    [(the_whole_prompt_may_hit, 2), (one_request_more_may_run, 2), (a_request_that_does_not_fit_is_passed_over, 3)],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_difference_becomes_a_small_trace_that_shows_it_again(fault, most_requests, tmp_path):
    file = tmp_path / "difference.jsonl"
    with pytest.MonkeyPatch.context() as patched:
        fault(patched.setattr)
        case, policy, _ = next(differences())
        small = shrink(case, lambda candidate: compare(candidate, policy).difference is not None)
        write_case(small, policy, file)
        read, read_policy = read_case(file)
        assert (read, read_policy) == (small, policy)
        difference = compare(read, policy).difference
    assert len(small.arrivals) <= most_requests < len(case.arrivals)
    assert f"step {difference.step}: {difference.what}" in str(difference)
    assert "readable engine: " in str(difference)
    assert "vLLM: " in str(difference)
    assert difference.request is not None
    line = file.read_text(encoding="utf-8").splitlines()[difference.request]
    assert str(difference).endswith(f"trace line {difference.request + 1}: {line}")
    assert compare(read, policy).difference is None, "without the fault the engines agree"

"""The readable engine: what vLLM v1's scheduler does in one step. It defines the rules and keeps no clock.

Rules, in the order of a step:

0. The policy orders the waiting queue with the hits as they stand before anything else happens.
1. Running requests first, in their order, each up to what is left of the token budget. Where blocks are short, the last
   running request is preempted: its blocks are freed and it returns to the waiting queue.
2. Only if nothing was preempted: walk the waiting queue in the policy's order. Look the hit up again, require room for
   the whole request, chunk to the budget left, allocate the chunk. A request that does not fit ends the walk; so do an
   empty budget and ``max_num_seqs`` running requests.
3. When the step's time has passed, every request that has computed all its tokens emits the next one; one that has
   emitted all its output finishes and frees its blocks.

Full blocks are registered when they are scheduled, so a request admitted later in the same step can already hit them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from fairway.cache import BlockPool, EvictingPool, Pgdsf, SparedPrefixes
from fairway.engine.limits import Limits
from fairway.engine.refusals import EVENTS, refuse_missing_time, refuse_unservable, refuse_unsupported
from fairway.engine.request import Request, generated_block_id
from fairway.engine.waiting_queue import PrefillTime, WaitingQueue
from fairway.errors import InputError
from fairway.policies import (
    Capability,
    Column,
    Policy,
    QueueView,
    checked_order,
    checked_victim_rank,
    tell_of,
    tell_of_hook,
)
from fairway.reuse import ReuseIndex

HookObserver = Callable[[int, QueueView, Policy], None]


@dataclass(frozen=True, slots=True)
class Chunk:
    """One request's part of a step."""

    request: Request
    new_tokens: int
    context_tokens: int  # at the chunk's end, the chunk included


@dataclass(slots=True)
class Step:
    """What one step runs."""

    index: int
    now_ns: int
    chunks: list[Chunk] = field(default_factory=list)
    admitted: list[Request] = field(default_factory=list)
    preempted: list[Request] = field(default_factory=list)
    evicted: list[int] = field(default_factory=list)  # hashes forgotten in this step, in order

    @property
    def new_tokens(self) -> int:
        """Tokens that the step computes."""
        return sum(chunk.new_tokens for chunk in self.chunks)


class Scheduler:
    """One engine instance: waiting and running requests over one block pool.

    ``prefill_time`` gives ``T(n, h)``. It is asked for only by a policy that declares `Column.REMAINING_NS` and by the
    eviction ``pgdsf``, at least once for each hit of each request: let it remember its answers.
    """

    def __init__(
        self,
        policy: Policy,
        limits: Limits,
        observe_hook: HookObserver | None = None,
        prefill_time: PrefillTime | None = None,
    ) -> None:
        refuse_unsupported(policy, EVENTS | {Capability.VICTIM_RANK})
        refuse_missing_time(policy, limits, prefill_time)
        self.policy = policy
        self.limits = limits
        self._prefill_time = prefill_time
        self._spared = SparedPrefixes() if Capability.VICTIM_RANK in policy.capabilities else None
        self._pgdsf = Pgdsf() if limits.eviction == "pgdsf" else None
        self._refuse_conflicts()
        eviction = self._spared or self._pgdsf
        self.pool = EvictingPool(limits.cache_blocks, eviction) if eviction else BlockPool(limits.cache_blocks)
        self.waiting: WaitingQueue[Request] = WaitingQueue(
            prefill_time if Column.REMAINING_NS in policy.columns else None
        )
        self.running: list[Request] = []
        self._observe_hook = observe_hook
        tracks_hits = Column.HIT_TOKENS in policy.columns or observe_hook is not None
        self._index = ReuseIndex(self.pool.resident, limits.block_tokens) if tracks_hits else None
        self._steps = 0

    @property
    def has_work(self) -> bool:
        """Whether any request waits or runs."""
        return bool(self.running) or len(self.waiting) > 0

    def submit(self, request: Request) -> None:
        """Let a request wait. Raises `UnservableError` if it can never fit; nothing changes then."""
        refuse_unservable(request, self.limits)
        self._let_wait(request)
        if Capability.ON_ARRIVAL in self.policy.capabilities:
            tell_of(Capability.ON_ARRIVAL, self.policy, request.request_id)

    def abort(self, request: Request) -> None:
        """Drop a waiting or running request and free its blocks."""
        if request in self.running:
            self.running.remove(request)
            self._free_blocks(request)
        else:
            self._let_go([self.waiting.position(request.order_key)])

    def schedule(self, now_ns: int) -> Step:
        """Decide what runs in the step that begins at ``now_ns``."""
        step = Step(self._steps, now_ns)
        self._steps += 1
        order = self._ordered_queue(step)
        self.pool.forget_changes()  # what changes from here on is for the next hook
        budget_tokens = self._extend_running(step, self.limits.budget_tokens)
        if not step.preempted:
            self._admit(step, order, budget_tokens)
        step.evicted = self.pool.take_evicted()
        if Capability.ON_STEP in self.policy.capabilities:
            tell_of(Capability.ON_STEP, self.policy, step.new_tokens)
        return step

    def complete(self, step: Step, now_ns: int) -> list[Request]:
        """Let the step's results arrive at ``now_ns``; return the requests that finished."""
        finished = []
        for chunk in step.chunks:
            request = chunk.request
            if request.computed_tokens < request.n_tokens:
                continue
            self._emit(request, now_ns)
            if request.emitted_tokens == request.output_tokens:
                request.finish_ns = now_ns
                self._free_blocks(request)
                finished.append(request)
        if finished:
            self.running = [request for request in self.running if request.finish_ns is None]
        return finished

    def _refuse_conflicts(self) -> None:
        if self._spared is not None and self._pgdsf is not None:
            raise InputError(
                f"policy {self.policy.name!r} says which blocks to evict, and eviction {self.limits.eviction!r} too",
                remedy="leave the eviction at lru",
            )

    # step 0: the hook

    def _ordered_queue(self, step: Step) -> Iterator[int]:
        if not len(self.waiting):
            if self._spared is not None:
                self._spared.spare(())
            return iter(())
        self._refresh_hits()
        view = self.waiting.view(step.now_ns)
        if Capability.ON_HOOK in self.policy.capabilities:
            tell_of_hook(self.policy, view)
        if self._observe_hook is not None:
            self._observe_hook(step.index, view, self.policy)
        if self._spared is not None:
            hit_blocks, requests = view.hit_tokens // self.limits.block_tokens, self.waiting.requests
            ranked = checked_victim_rank(self.policy, view)
            self._spared.spare([requests[position].chain[: hit_blocks[position]] for position in ranked])
        return checked_order(self.policy, view)

    def _refresh_hits(self) -> None:
        """Bring every waiting request's hit up to date, at the cost of what the cache changed."""
        if self._index is not None:
            self._index.update(self.pool.changed)
            self.waiting.take_hits(self._index.hit_tokens)

    def _let_wait(self, request: Request) -> None:
        slot = self.waiting.add(request, request.order_key, request.n_tokens, request.prefill_ns, request.head_id)
        if self._index is not None:
            self._index.add(slot, request.chain, self._hit_limit_blocks(request))

    def _let_go(self, positions: Iterable[int]) -> None:
        """Take requests out of the waiting queue."""
        for slot in self.waiting.remove(positions):
            if self._index is not None:
                self._index.remove(slot)

    def _hit_limit_blocks(self, request: Request) -> int:
        """Return how many blocks can hit: at least one token is always computed."""
        return (request.n_tokens - 1) // self.limits.block_tokens

    # step 1: running requests

    def _extend_running(self, step: Step, budget_tokens: int) -> int:
        """Give running requests their chunks; return the budget that is left."""
        index = 0
        while index < len(self.running) and budget_tokens > 0:
            request = self.running[index]
            new_tokens = min(request.n_tokens - request.computed_tokens, budget_tokens)
            if not self._make_room(step, request, new_tokens):
                break
            self._run_chunk(step, request, new_tokens)
            budget_tokens -= new_tokens
            index += 1
        return budget_tokens

    def _make_room(self, step: Step, request: Request, new_tokens: int) -> bool:
        """Preempt from the end of the running list until ``request`` fits; False if it was preempted itself."""
        needed_blocks = self._blocks_for(request.computed_tokens + new_tokens) - len(request.blocks)
        while needed_blocks > self.pool.free_blocks:
            victim = self.running.pop()
            self._preempt(step, victim)
            if victim is request:
                return False
        return True

    def _preempt(self, step: Step, victim: Request) -> None:
        self._free_blocks(victim)
        victim.preemptions += 1
        self._let_wait(victim)
        step.preempted.append(victim)

    # step 2: waiting requests

    def _admit(self, step: Step, order: Iterator[int], budget_tokens: int) -> None:
        """Admit waiting requests in ``order`` until the budget, the sequences or the room end."""
        admitted: set[int] = set()
        while budget_tokens > 0 and len(self.running) < self.limits.max_num_seqs:
            position = next(order, None)
            if position is None:
                break
            request = self.waiting.requests[position]
            hit = self.pool.longest_hit(request.chain, self._hit_limit_blocks(request))
            if not self._fits_whole(request, hit):
                break
            admitted.add(position)
            new_tokens = min(request.n_tokens - len(hit) * self.limits.block_tokens, budget_tokens)
            self._start(step, request, hit)
            self._run_chunk(step, request, new_tokens)
            budget_tokens -= new_tokens
        self._let_go(admitted)

    def _fits_whole(self, request: Request, hit: list[int]) -> bool:
        """Whether all blocks of the request fit once its hit is out of the free list, though only a chunk is taken."""
        needed_blocks = self._blocks_for(request.n_tokens) - len(hit)
        return needed_blocks <= self.pool.free_blocks - self.pool.unreferenced(hit)

    def _start(self, step: Step, request: Request, hit: list[int]) -> None:
        self.pool.touch(hit)
        request.blocks = hit
        request.registered_blocks = len(hit)
        request.computed_tokens = len(hit) * self.limits.block_tokens
        if request.start_ns is None:
            request.start_ns = step.now_ns
            request.hit_tokens_at_start = request.computed_tokens
        if self._pgdsf is not None:
            self._pgdsf.used(request.chain, len(hit), self._cost_ns(request))
        self.running.append(request)
        step.admitted.append(request)
        if Capability.ON_ADMIT in self.policy.capabilities:
            tell_of(Capability.ON_ADMIT, self.policy, request.request_id)

    def _cost_ns(self, request: Request) -> float:
        """Return the request's prefill time per token that it has to compute."""
        assert self._prefill_time is not None
        remaining_ns = self._prefill_time(request.n_tokens, request.computed_tokens)
        return remaining_ns / (request.n_tokens - request.computed_tokens)

    # shared by both

    def _run_chunk(self, step: Step, request: Request, new_tokens: int) -> None:
        """Allocate the chunk's blocks and register those that it fills."""
        request.computed_tokens += new_tokens
        missing = self._blocks_for(request.computed_tokens) - len(request.blocks)
        request.blocks += self.pool.allocate(missing)
        full_blocks = request.computed_tokens // self.limits.block_tokens
        chain = request.chain
        for index in range(request.registered_blocks, full_blocks):
            self.pool.register(request.blocks[index], chain[index], chain[index - 1] if index else None)
        request.registered_blocks = full_blocks
        step.chunks.append(Chunk(request, new_tokens, request.computed_tokens))

    def _emit(self, request: Request, now_ns: int) -> None:
        request.emitted_tokens += 1
        if request.first_token_ns is None:
            request.first_token_ns = now_ns
        if request.n_tokens % self.limits.block_tokens == 0:
            request.chain.append(self._generated_hash(request))

    def _generated_hash(self, request: Request) -> int:
        """Return the hash of the block that the newest token fills: nobody else's, and negative unlike prompts' ids."""
        return generated_block_id(request.request_id, len(request.chain), self.limits.cache_blocks)

    def _free_blocks(self, request: Request) -> None:
        self.pool.release(request.blocks)
        request.blocks = []
        request.registered_blocks = 0
        request.computed_tokens = 0

    def _blocks_for(self, tokens: int) -> int:
        return -(-tokens // self.limits.block_tokens)

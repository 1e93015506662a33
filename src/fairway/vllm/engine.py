"""vLLM's scheduler as an engine of ours: virtual time, made-up output tokens, the same policies.

Every decision is vLLM's. This class hands it requests, gives its waiting queue the policy's order before a step, and
writes down what it decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from vllm.sampling_params import SamplingParams
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request as VllmRequest
from vllm.v1.request import RequestStatus

from fairway.cache import SparedPrefixes
from fairway.engine import (
    EVENTS,
    Chunk,
    HookObserver,
    Limits,
    PrefillTime,
    Request,
    Step,
    WaitingQueue,
    refuse_missing_time,
    refuse_unservable,
    refuse_unsupported,
)
from fairway.errors import InputError
from fairway.policies import (
    Capability,
    Column,
    Policy,
    checked_order,
    checked_victim_rank,
    drawn_together,
    tell_of,
    tell_of_hook,
)
from fairway.vllm.build import build_scheduler
from fairway.vllm.hashes import BlockContents, BlockHashes, output_token_id
from fairway.vllm.hits import WaitingHits
from fairway.vllm.scheduler import HookedScheduler, LoggedScheduler


class VllmEngine:
    """One instance of vLLM's scheduler. Its waiting requests are mirrored as the columns that policies see.

    ``hooked=False`` leaves vLLM as it ships: its queue keeps its own order and the policy is told nothing.
    ``check_hits_every`` so many steps all hits are held against vLLM's own look-up, see `WaitingHits`.
    """

    def __init__(
        self,
        policy: Policy,
        limits: Limits,
        observe_hook: HookObserver | None = None,
        prefill_time: PrefillTime | None = None,
        *,
        hooked: bool = True,
        check_hits_every: int = 0,
    ) -> None:
        refuse_unsupported(policy, EVENTS | {Capability.VICTIM_RANK})
        refuse_missing_time(policy, limits, prefill_time)
        if limits.eviction != "lru":
            raise InputError(f"vLLM does not know eviction {limits.eviction!r}", remedy="leave the eviction at lru")
        self.policy = policy
        self.limits = limits
        self.waiting: WaitingQueue[Request] = WaitingQueue(
            prefill_time if Column.REMAINING_NS in policy.columns else None
        )
        self._observe_hook = observe_hook
        self._capabilities = policy.capabilities if hooked else frozenset()
        self._requests: dict[str, Request] = {}
        self._sampling: dict[int, SamplingParams] = {}
        self._drawn_at: dict[str, int] = {}  # positions of those that vLLM was given to try in this step
        self._steps = 0
        self._now_ns = 0
        self._output: Any = None
        self._hashes = BlockHashes(limits.block_tokens)
        self.scheduler = self._new_scheduler(hooked)
        self._pool = self.scheduler.kv_cache_manager.block_pool
        tracks_hits = hooked and (Column.HIT_TOKENS in policy.columns or observe_hook is not None)
        self.hits = WaitingHits(self.scheduler, check_hits_every) if tracks_hits else None
        self._contents = BlockContents(self._pool.blocks, self._hashes)
        self._spared = SparedPrefixes() if Capability.VICTIM_RANK in self._capabilities else None
        if isinstance(self.scheduler, HookedScheduler):
            self.scheduler.order_waiting = self._ordered_queue
            if self._spared is not None:
                self.scheduler.choose_victims(self._victims)

    @property
    def has_work(self) -> bool:
        """Whether any request waits or runs."""
        return bool(self.scheduler.requests)

    def submit(self, request: Request) -> None:
        """Let a request wait. Raises `UnservableError` if it can never fit: vLLM would keep it waiting for ever."""
        refuse_unservable(request, self.limits)
        self._refuse_too_long(request)
        key = str(request.request_id)
        self._requests[key] = request
        self.scheduler.add_request(self._vllm_request(key, request))
        self._let_wait(request)
        if Capability.ON_ARRIVAL in self._capabilities:
            tell_of(Capability.ON_ARRIVAL, self.policy, request.request_id)

    def abort(self, request: Request) -> None:
        """Drop a waiting or running request.

        One at a time: vLLM frees several in the order of a set of strings, which differs between processes.
        """
        key = str(request.request_id)
        if self.scheduler.requests[key].status != RequestStatus.RUNNING:
            self._let_go([self.waiting.position(request.order_key)])
        self.scheduler.finish_requests(key, RequestStatus.FINISHED_ABORTED)
        del self._requests[key]

    def schedule(self, now_ns: int) -> Step:
        """Let vLLM decide what runs in the step that begins at ``now_ns``."""
        step = Step(self._steps, now_ns)
        self._steps += 1
        self._now_ns = now_ns
        self._drawn_at = {}
        if self._spared is not None:
            self._spared.spare(())  # until the hook, if there is one
        self._output = self.scheduler.schedule()
        step.preempted = self._preempted()
        for request in step.preempted:
            request.preemptions += 1
            self._let_wait(request)
        step.chunks = [self._chunk(key, new) for key, new in self._output.num_scheduled_tokens.items()]
        self._admit(step)
        step.evicted = [self._hashes.block_id(key) for key in self.scheduler.cache_log.evicted]
        if Capability.ON_STEP in self._capabilities:
            tell_of(Capability.ON_STEP, self.policy, step.new_tokens)
        return step

    def complete(self, step: Step, now_ns: int) -> list[Request]:
        """Let the step's results arrive at ``now_ns``; return the requests that finished."""
        keys = [str(chunk.request.request_id) for chunk in step.chunks]
        made_up = ModelRunnerOutput(
            req_ids=keys,
            req_id_to_index={key: index for index, key in enumerate(keys)},
            sampled_token_ids=[self._sampled(key) for key in keys],
        )
        results = self.scheduler.update_from_output(self._output, made_up)
        finished = []
        for result in (result for results_of_client in results.values() for result in results_of_client.outputs):
            request = self._requests[result.request_id]
            request.emitted_tokens += len(result.new_token_ids)
            if request.first_token_ns is None:
                request.first_token_ns = now_ns
            if result.finish_reason is not None:
                request.finish_ns = now_ns
                finished.append(request)
                del self._requests[result.request_id]
        return finished

    # what a comparison looks at

    def free_list(self) -> list[int]:
        """Return the free blocks in the order in which they would be taken. Costs their number."""
        return [block.block_id for block in self._pool.free_block_queue.iter_blocks_after(None)]

    def running_ids(self) -> list[int]:
        """Return the running requests, in vLLM's order."""
        return [int(request.request_id) for request in self.scheduler.running]

    def looked_up_hits(self) -> list[tuple[int, int]]:
        """Return (tokens, hit tokens) of the waiting requests by vLLM's own lookup, in order of (arrival, id)."""
        found = [self.scheduler.requests[str(request.request_id)] for request in self.waiting.requests]
        look_up = self.scheduler.kv_cache_manager.get_computed_blocks
        return [(request.num_tokens, look_up(request)[1]) for request in found]

    # the hook

    def _new_scheduler(self, hooked: bool) -> LoggedScheduler:
        return build_scheduler(HookedScheduler if hooked else LoggedScheduler, self.limits)

    def _ordered_queue(self) -> Iterator[VllmRequest]:
        """Do what a hook does; return the requests to try, in the policy's order, as far as they are asked for."""
        if self.hits is not None:
            self.hits.update()
            self.waiting.take_hits(self.hits.hit_tokens)
        view = self.waiting.view(self._now_ns)
        if Capability.ON_HOOK in self._capabilities:
            tell_of_hook(self.policy, view)
        if self._observe_hook is not None:
            self._observe_hook(self._steps - 1, view, self.policy)
        if self._spared is not None:
            hit_blocks = view.hit_tokens // self.limits.block_tokens
            ranked = checked_victim_rank(self.policy, view)
            self._spared.spare([self._prefix_ids(position, hit_blocks[position]) for position in ranked])
        order = drawn_together(checked_order(self.policy, view), view, self.limits.budget_tokens)
        return map(self._draw, order)

    def _draw(self, position: int) -> VllmRequest:
        """Return the request at a position, and note where it is."""
        request = self._waiting_at(position)
        self._drawn_at[request.request_id] = position
        return request

    def _waiting_at(self, position: int) -> VllmRequest:
        return self.scheduler.requests[str(self.waiting.requests[position].request_id)]

    def _prefix_ids(self, position: int, blocks: int) -> list[int]:
        """Return the ids of the first blocks of a waiting request."""
        return self._hashes.prefix_ids(self._waiting_at(position).block_hashes[:blocks])

    def _victims(self, count: int) -> list[int]:
        assert self._spared is not None
        return self._spared.victims(count, self.free_list(), self._contents)

    def _let_wait(self, request: Request) -> None:
        slot = self.waiting.add(request, request.order_key, request.n_tokens, request.prefill_ns, request.head_id)
        if self.hits is not None:
            self.hits.add(slot, self.scheduler.requests[str(request.request_id)])

    def _let_go(self, positions: Iterable[int]) -> None:
        """Take requests out of the mirrored queue."""
        for slot in self.waiting.remove(positions):
            if self.hits is not None:
                self.hits.remove(slot)

    # between the two kinds of requests

    def _vllm_request(self, key: str, request: Request) -> VllmRequest:
        hashes = self._hashes.prompt_hashes(request.chain)
        cache_blocks = self.limits.cache_blocks

        def hash_blocks(grown: VllmRequest) -> list[bytes]:
            return self._hashes.generated_hashes(grown, cache_blocks) if grown.num_output_tokens else hashes

        return VllmRequest(
            request_id=key,
            prompt_token_ids=self._hashes.prompt_token_ids(request),
            sampling_params=self._sampling_of(request.output_tokens),
            pooling_params=None,
            arrival_time=request.arrival_ns / 1e9,
            block_hasher=hash_blocks,
        )

    def _sampling_of(self, output_tokens: int) -> SamplingParams:
        if output_tokens not in self._sampling:
            self._sampling[output_tokens] = SamplingParams(max_tokens=output_tokens, ignore_eos=True)
        return self._sampling[output_tokens]

    def _refuse_too_long(self, request: Request) -> None:
        longest_tokens = self.scheduler.max_model_len
        if request.prompt_tokens + request.output_tokens > longest_tokens:
            raise InputError(
                f"request {request.request_id} has {request.prompt_tokens} prompt and {request.output_tokens} output "
                f"tokens, the model's context {longest_tokens}",
                remedy="leave it out of the trace, or cut it",
            )

    def _preempted(self) -> list[Request]:
        """Victims, first one first. vLLM names them in a set; in its queue they lie at the head, the last one first."""
        count = len(self._output.preempted_req_ids or ())
        preempted = list(islice(self.scheduler.waiting, count))
        return [self._requests[request.request_id] for request in reversed(preempted)]

    def _chunk(self, key: str, new_tokens: int) -> Chunk:
        return Chunk(self._requests[key], new_tokens, self.scheduler.requests[key].num_computed_tokens)

    def _admit(self, step: Step) -> None:
        """Write down who left the waiting queue, with the hits that vLLM gave them."""
        resumed = self._output.scheduled_cached_reqs.resumed_req_ids
        new = {request.req_id for request in self._output.scheduled_new_reqs}
        positions = []
        for chunk in step.chunks:
            key = str(chunk.request.request_id)
            if key not in new and key not in resumed:
                continue
            request = chunk.request
            step.admitted.append(request)
            positions.append(self._drawn_at[key] if key in self._drawn_at else self.waiting.position(request.order_key))
            hit_tokens = chunk.context_tokens - chunk.new_tokens
            if self.hits is not None:
                self.hits.confirm(self.waiting.slot(positions[-1]), hit_tokens)
            if request.start_ns is None:
                request.start_ns = step.now_ns
                request.hit_tokens_at_start = hit_tokens
            if Capability.ON_ADMIT in self._capabilities:
                tell_of(Capability.ON_ADMIT, self.policy, request.request_id)
        self._let_go(positions)

    def _sampled(self, key: str) -> list[int]:
        request = self.scheduler.requests.get(key)
        if request is None or request.num_computed_tokens < request.num_tokens:  # aborted, or still in its prompt
            return []
        return [output_token_id(int(key))]

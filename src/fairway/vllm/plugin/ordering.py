"""The hook: before a step the policy orders the waiting requests; whatever it does, the server goes on."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from time import perf_counter_ns
from typing import Any

from vllm.v1.core.sched.interface import PauseState

from fairway.policies import Capability, Column, Policy, QueueView, checked_order, tell_of_hook
from fairway.vllm.hits import WaitingHits, has_plain_blocks, logger
from fairway.vllm.plugin.clock import SteadyClock
from fairway.vllm.plugin.counts import Counts
from fairway.vllm.plugin.queue import WatchedQueue
from fairway.vllm.plugin.settings import ORDERING_FAILED, PluginSettings, prefill_time
from fairway.vllm.plugin.waiting import Waiting

NS_PER_S = 1_000_000_000
SPREAD_EVERY_NS = 100_000_000  # nobody reads a gauge more often, and it costs a pass over the queue


class Ordering:
    """What one scheduler's queue, the mirror of it, and the policy have to do with each other.

    Nothing raised here or by the policy reaches the engine: the step then goes on in order of arrival, the first cause
    is logged, and every such step is counted.
    """

    def __init__(self, scheduler: Any, settings: PluginSettings) -> None:
        self.policy: Policy = settings.make_policy()
        self.counts = Counts()
        self._scheduler = scheduler
        self._settings = settings
        profile = settings.load_profile()
        self._prefill_time = prefill_time(profile, scheduler.max_num_scheduled_tokens)
        self._clock = SteadyClock()
        self._waiting = self._empty_mirror()
        self._blocked: dict[Any, None] = {}  # not ready to run, by what vLLM says
        self._refused: dict[Any, None] = {}  # can never run; until vLLM has sent its client the error
        self._largest_tokens = sys.maxsize if settings.shadow else largest_request_tokens(scheduler)  # that is admitted
        self._hears_arrivals, self._hears_hooks, self._hears_admissions, self._hears_steps = (
            one in self.policy.capabilities
            for one in (Capability.ON_ARRIVAL, Capability.ON_HOOK, Capability.ON_ADMIT, Capability.ON_STEP)
        )
        self._now_ns = self._spread_due_ns = 0
        self._has_failed = False
        logger.info(
            "waiting requests are ordered by policy %r%s; prefill times: %s, %s, %s",
            self.policy.name,
            " in shadow mode, which changes nothing" if self._settings.shadow else "",
            profile.device,
            profile.model,
            profile.evidence,
        )

    def before_step(self) -> None:
        """Let the policy order the queue; in shadow mode, ask it and go on as vLLM does."""
        queue: WatchedQueue = self._scheduler.waiting
        begun_ns = perf_counter_ns()
        try:
            self._follow(queue)
            if not len(self._waiting) or self._scheduler.pause_state != PauseState.UNPAUSED:
                return
            order = self._order(queue)
            if self._settings.shadow:
                self._compare(queue, order)
        except Exception as error:
            self._fall_back(error)
            self._start_over(queue)
            order = iter(list(queue))
        if not self._settings.shadow:
            queue.begin_walk(order)
        self.counts.order_ns.append(perf_counter_ns() - begun_ns)

    def after_step(self, output: Any) -> None:
        """Tell the policy who was admitted and how much is computed."""
        queue: WatchedQueue = self._scheduler.waiting
        queue.end_walk()
        try:
            admitted = self._take_out(queue, output.num_scheduled_tokens)
        except Exception as error:
            self._fall_back(error)
            self._start_over(queue)
            return
        try:
            if self._hears_admissions:
                for request in admitted:
                    self.policy.on_admit(self._waiting.number(request))
            if self._hears_steps:
                self.policy.on_step(output.total_num_scheduled_tokens)
        except Exception as error:
            self._fall_back(error)

    @property
    def hits_are_indexed(self) -> bool:
        """Whether the reuse index keeps the hits, and not a look-up of every waiting request in every step."""
        return self._waiting.hits_are_indexed

    def take_counts(self) -> Counts:
        """Return what was counted since the last call."""
        taken, self.counts = self.counts, Counts()
        return taken

    # one hook

    def _follow(self, queue: WatchedQueue) -> None:
        """Bring the mirror up to date with the queue and the cache, whether anybody is ordered or not."""
        self._now_ns = self._clock.now_ns()
        came, left = queue.changes()
        grown = self._waiting.grown()
        if left or grown or self._blocked:
            came = self._let_go(came, left, grown)
        for request in came:
            self._take_in(request)
        self._waiting.refresh_hits()

    def _order(self, queue: WatchedQueue) -> Iterator[Any]:
        view = self._waiting.view(self._now_ns)
        if self._knows_hits and self._now_ns >= self._spread_due_ns:
            self._spread_due_ns = self._now_ns + SPREAD_EVERY_NS
            uncached_tokens = view.uncached_tokens
            self.counts.most_uncached_tokens = uncached_tokens.item(uncached_tokens.argmax())
            self.counts.least_uncached_tokens = uncached_tokens.item(uncached_tokens.argmin())
        if self._hears_hooks:
            tell_of_hook(self.policy, view)
        return self._walk(queue, view)

    def _walk(self, queue: WatchedQueue, view: QueueView) -> Iterator[Any]:
        """Yield the policy's order; go on by arrival where it raises, or names nobody though nothing runs."""
        waiting = self._waiting
        try:
            for position in checked_order(self.policy, view):
                yield waiting.at(position)
            if not waiting.drawn and not self._scheduler.running:
                raise RuntimeError(f"policy {self.policy.name!r} names nobody though nothing runs")
        except Exception as error:
            self._fall_back(error)
            yield from [request for request in queue if request not in waiting.drawn]

    def _take_out(self, queue: WatchedQueue, scheduled_tokens: Mapping[str, int]) -> list[Any]:
        """Let those go whom vLLM took in this step; return those who could be ordered."""
        taken, waiting = [], self._waiting
        for request in queue.taken():
            if request in waiting:
                taken.append(request)
            else:
                self._forget(request)
        if not taken:
            return taken
        if self._scheduler.connector is None:  # which adds hits of its own
            for request in taken:
                if request.request_id in scheduled_tokens:
                    waiting.confirm(request, request.num_computed_tokens - scheduled_tokens[request.request_id])
        self.counts.overtaken_tokens += waiting.admit(taken)
        return taken

    def _compare(self, queue: WatchedQueue, order: Iterator[Any]) -> None:
        """Count a step in which the policy would have begun with somebody else."""
        first = next(order, None)
        self.counts.disagreements += first is not next((one for one in queue if one in self._waiting), None)

    # the mirror

    def _empty_mirror(self) -> Waiting:
        return Waiting(
            WaitingHits(self._scheduler, self._settings.check_hits_every) if self._knows_hits else None,
            self._scheduler.hash_block_size,
            self._prefill_time,
            with_remaining=Column.REMAINING_NS in self.policy.columns,
        )

    @cached_property
    def _knows_hits(self) -> bool:
        return Column.HIT_TOKENS in self.policy.columns

    def _start_over(self, queue: WatchedQueue) -> None:
        """Forget the mirror: what raised may have left it half changed."""
        self._waiting = self._empty_mirror().with_numbers_of(self._waiting)
        self._blocked, self._refused = {}, {}
        queue.enter_anew()

    def _let_go(self, came: dict[Any, None], left: dict[Any, None], grown: list[Any]) -> dict[Any, None]:
        """Take out of the mirror who left and who has grown; return who may have to be taken in."""
        self._waiting.remove({**left, **dict.fromkeys(grown)})
        for request in left:
            self._forget(request)
        return {**self._blocked, **{request: None for request in grown if request not in left}, **came}

    def _forget(self, request: Any) -> None:
        self._blocked.pop(request, None)
        self._refused.pop(request, None)

    def _take_in(self, request: Any) -> None:
        """Take a request into the mirror if it is ready to run and can."""
        if self._scheduler._is_blocked_waiting_status(request.status) and not self._is_ready(request):
            self._blocked[request] = None
            return
        self._blocked.pop(request, None)
        if request.num_tokens > self._largest_tokens:
            self._refuse(request)
            return
        number, is_new = self._waiting.add(request, self._clock.since_ns(round(request.arrival_time * NS_PER_S)))
        if is_new and self._hears_arrivals:
            self.policy.on_arrival(number)

    def _is_ready(self, request: Any) -> bool:
        """Ask vLLM, which then takes a request whose grammar is compiled as an ordinary one."""
        return not self._settings.shadow and bool(self._scheduler._handle_blocked_waiting_request(request))

    def _refuse(self, request: Any) -> None:
        """Let vLLM end a request with an error: it would wait for ever, and keep everybody behind it waiting."""
        self._refused[request] = None
        self._scheduler.grammar_compile_error_reqs.add(request.request_id)  # what it ends in its next update
        logger.error(
            "request %s is refused: it has %d tokens, and the whole cache holds %d",
            request.request_id,
            request.num_tokens,
            self._largest_tokens,
        )

    def _fall_back(self, error: Exception) -> None:
        self.counts.fallbacks += 1
        if not self._has_failed:
            self._has_failed = True
            logger.error(
                "%s, this step goes on by arrival; said once, then counted: %s", ORDERING_FAILED, error, exc_info=error
            )


def largest_request_tokens(scheduler: Any) -> int:
    """Return how many tokens fit into an empty cache; one of its blocks is never used."""
    if not has_plain_blocks(scheduler):
        return sys.maxsize  # what other layouts need for a prompt is theirs to say
    return int((scheduler.cache_config.num_gpu_blocks - 1) * scheduler.block_size)

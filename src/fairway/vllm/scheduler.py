"""The real scheduler with two additions: its cache writes changes down, and waiting requests are tried in an order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from vllm.v1.core.sched.output import SchedulerOutput
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.request import Request

from fairway.vllm.cache_log import CacheLog, cache_log
from fairway.vllm.policy_queue import PolicyQueue


class LoggedScheduler(Scheduler):
    """The scheduler as it ships, with a log of the step's changes of the cache."""

    @property
    def cache_log(self) -> CacheLog:
        """What the cache stored and evicted since the last step began."""
        return cache_log(self.kv_cache_manager.block_pool)

    def schedule(self, *args: Any, **kwargs: Any) -> SchedulerOutput:
        """Schedule as vLLM does."""
        self.cache_log.begin_step()
        return super().schedule(*args, **kwargs)


class HookedScheduler(LoggedScheduler):
    """In each step, those waiting are tried whom ``order_waiting`` yields, first to try first, and nobody else.

    It is called before the step, and its answer drawn from as far as the step admits.
    """

    order_waiting: Callable[[], Iterator[Request]]

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.waiting = PolicyQueue()  # vLLM's own is empty still

    def choose_victims(self, victims: Callable[[int], Sequence[int]]) -> None:
        """From now on allocate the blocks that ``victims`` gives, in its order: so many of the free ones, by number."""
        pool = self.kv_cache_manager.block_pool
        take = pool.get_new_blocks

        def get_new_blocks(count: int) -> Any:
            chosen = [pool.blocks[block] for block in victims(count)] if count <= pool.get_num_free_blocks() else []
            for block in chosen:
                pool.free_block_queue.remove(block)
            pool.free_block_queue.prepend_n(chosen)
            return take(count)

        pool.get_new_blocks = get_new_blocks

    def schedule(self, *args: Any, **kwargs: Any) -> SchedulerOutput:
        """Order, and schedule as vLLM does; those that were not to be tried stay waiting."""
        if not self.waiting:
            return super().schedule(*args, **kwargs)
        self.waiting.begin_walk(self.order_waiting())
        try:
            return super().schedule(*args, **kwargs)
        finally:
            self.waiting.end_walk()

"""The real scheduler with two additions: it writes evictions down, and tries waiting requests in a given order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vllm.v1.core.block_pool import BlockHashToBlockMap
from vllm.v1.core.sched.output import SchedulerOutput
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.request import Request


class EvictionLog(BlockHashToBlockMap):
    """The pool's map from hash to blocks, writing down what is forgotten."""

    def __init__(self) -> None:
        super().__init__()
        self._evicted: list[bytes] = []

    def pop(self, key: bytes, block_id: int) -> Any:
        """Drop one copy."""
        block = super().pop(key, block_id)
        if block is not None:
            self._evicted.append(key)
        return block

    def take(self) -> list[bytes]:
        """Return the keys forgotten since the last call, in order, once a copy."""
        evicted, self._evicted = self._evicted, []
        return evicted


class LoggedScheduler(Scheduler):
    """The scheduler as it ships, with a log of evictions."""

    evictions: EvictionLog

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._log_evictions()

    def reset_prefix_cache(self, *args: Any, **kwargs: Any) -> bool:
        """Forget the whole cache."""
        done: bool = super().reset_prefix_cache(*args, **kwargs)
        if done:
            self._log_evictions()
        return done

    def _log_evictions(self) -> None:
        self.evictions = EvictionLog()
        self.kv_cache_manager.block_pool.cached_block_hash_to_block = self.evictions


class HookedScheduler(LoggedScheduler):
    """Before each step, the waiting queue becomes what ``order_waiting`` gives, first to try first, and nobody else."""

    order_waiting: Callable[[], Sequence[Request]]

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
        """Reorder, then schedule as vLLM does; those that were not to be tried stay waiting."""
        if not self.waiting:
            return super().schedule(*args, **kwargs)
        chosen = self.order_waiting()
        keys = {request.request_id for request in chosen}
        others = [request for request in self.waiting if request.request_id not in keys]
        self.waiting.clear()
        self.waiting.extend(chosen)
        output = super().schedule(*args, **kwargs)
        self.waiting.extend(others)
        return output

"""How much of each waiting request's prompt vLLM's prefix cache holds right now, asked without changing anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from vllm.logger import init_logger
from vllm.v1.core import kv_cache_utils
from vllm.v1.kv_cache_interface import FullAttentionSpec

from fairway.reuse import ClosureError, ReuseIndex
from fairway.vllm.cache_log import cache_log

logger = init_logger("vllm.fairway")  # below vLLM's own, so that it is shown as vLLM's is

_GROUP = kv_cache_utils.make_block_hash_with_group_id(b"", 0)  # what the pool appends to a hash: one group of layers


class WaitingHits:
    """Hits of vLLM's waiting requests by slot, from the engine's own block hashes: salts, adapters and images count.

    A reuse index keeps them at the cost of what the cache changes. It rests on prefix closure. Where that cannot be
    counted on (other layouts of the cache than one group of full attention), or from the moment that it is seen broken,
    hits are looked up as vLLM does, request by request: exact as well, and slow. A reset of the prefix cache mends it.

    ``check_every_steps`` holds all hits against vLLM's own look-up every so many updates, and 0 never: for debugging.
    """

    def __init__(self, scheduler: Any, check_every_steps: int = 0) -> None:
        self._manager = scheduler.kv_cache_manager
        self._block_tokens: int = self._manager.block_pool.hash_block_size
        self._may_index = has_plain_blocks(scheduler)
        self._check_every_steps = check_every_steps
        self._updates = 0
        self._requests: dict[int, Any] = {}
        self.log = cache_log(self._manager.block_pool)  # the one that the latest update read
        self._index: ReuseIndex[bytes] = ReuseIndex(self.log.resident, self._block_tokens)
        self.log.watched = self._index.watched
        self._looked_up = np.zeros(0, dtype=np.int64)
        self.is_indexed = self._may_index

    def add(self, slot: int, request: Any) -> None:
        """Let a vLLM request wait."""
        self._requests[slot] = request
        hashes = request.block_hashes
        blocks = 0  # that can hit
        if self._manager.prefix_cache_lookup_enabled(request):  # not for prompt log-probabilities, for instance
            blocks = min(len(hashes), (request.num_tokens - 1) // self._block_tokens)  # one token is always computed
        self._index.add(slot, _Keys(hashes), blocks)

    def remove(self, slot: int) -> None:
        """Let a request go."""
        del self._requests[slot]
        self._index.remove(slot)

    def update(self) -> None:
        """Bring hits up to date, just before a step."""
        log = cache_log(self._manager.block_pool)
        if log is not self.log:
            self.log, self.is_indexed = log, self._may_index
            self._index.reset(log.resident)
            log.watched = self._index.watched
        if self.is_indexed:
            self._update_index()
        if not self.is_indexed:
            self._look_all_up()

    @property
    def hit_tokens(self) -> npt.NDArray[np.int64]:
        """Hits by slot, as of the last `update`. Without meaning where no request is."""
        return self._index.hit_tokens if self.is_indexed else self._looked_up

    def confirm(self, slot: int, hit_tokens: int) -> None:
        """Hear which hit vLLM's own look-up gave a request that it admitted in this step.

        It may differ from ours, which is from before the step, at a block that this step stored or evicted.
        """
        if not self.is_indexed:
            return
        ours = self._index.hit_tokens.item(slot)
        if ours == hit_tokens:
            return
        request = self._requests[slot]
        block = ours // self._block_tokens - (hit_tokens < ours)  # its last one was evicted, or its next one stored
        if request.block_hashes[block] + _GROUP not in self.log.noticed:
            self._give_up(f"request {request.request_id} hit {hit_tokens} tokens instead of {ours}")

    def _update_index(self) -> None:
        try:
            self._index.update(self.log.noticed)
        except ClosureError as error:
            self._give_up(str(error))
            return
        self._updates += 1
        is_sampled = self._check_every_steps and self._updates % self._check_every_steps == 0
        if is_sampled or self.log.lost_in_use:
            self._check()

    def _look_all_up(self) -> None:
        self._looked_up = np.zeros_like(self._index.hit_tokens)
        for slot, request in self._requests.items():
            self._looked_up[slot] = self._looked_up_tokens(request)

    def _looked_up_tokens(self, request: Any) -> int:
        """Return a hit by vLLM's look-up, without the events that it may send for a request that it admits."""
        if not self._manager.prefix_cache_lookup_enabled(request):
            return 0
        look_up = self._manager.coordinator.find_longest_cache_hit
        return int(look_up(request.block_hashes, request.num_tokens - 1)[1])

    def _check(self) -> None:
        for slot, request in self._requests.items():
            ours, found = int(self._index.hit_tokens[slot]), self._looked_up_tokens(request)
            if ours != found:
                self._give_up(f"request {request.request_id} hits {found} tokens instead of {ours}")
                return

    def _give_up(self, cause: str) -> None:
        self.is_indexed = False
        logger.warning("hits of waiting requests are looked up one by one until the prefix cache is reset: %s", cause)


def has_plain_blocks(scheduler: Any) -> bool:
    """Whether prefix caching is on, in one group of full attention in which a hit may end at any block."""
    groups = scheduler.kv_cache_config.kv_cache_groups
    return (
        scheduler.kv_cache_manager.enable_caching
        and len(groups) == 1
        and type(groups[0].kv_cache_spec) is FullAttentionSpec
        and scheduler.hash_block_size == scheduler.block_size == groups[0].kv_cache_spec.block_size
        and not scheduler.use_eagle
    )


class _Keys:
    """A request's block hashes as the pool's keys."""

    __slots__ = ("_hashes",)

    def __init__(self, hashes: Sequence[bytes]) -> None:
        self._hashes = hashes

    def __getitem__(self, block: int) -> bytes:
        key: bytes = self._hashes[block] + _GROUP
        return key

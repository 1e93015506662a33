"""How much of a waiting request's prompt is cached right now: read from vLLM's own map, changing nothing."""

from __future__ import annotations

from typing import Any

from vllm.v1.core import kv_cache_utils

from fairway.cache import moved_frontier

_GROUP = kv_cache_utils.make_block_hash_with_group_id(b"", 0)  # what the pool appends to a hash: one group of layers


class CacheProbe:
    """Looks hits up by the engine's own block hashes, so that salts, adapters and images count as it counts them.

    vLLM's lookup walks the whole prompt; this one costs how far the hit moved since it was last looked at.
    """

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    def __contains__(self, block_hash: Any) -> bool:
        # Asked of the pool each time: resetting the prefix cache gives it another map.
        return self._pool.cached_block_hash_to_block.get_one_block(block_hash + _GROUP) is not None

    def hit_blocks(self, request: Any, before: int = 0) -> int:
        """Return how many blocks of a vLLM request hit; ``before`` is what that was when last looked at.

        At least one token is always computed, so the block with the last one never hits.
        """
        limit = (request.num_tokens - 1) // self._pool.hash_block_size
        return moved_frontier(self, request.block_hashes, limit, before)

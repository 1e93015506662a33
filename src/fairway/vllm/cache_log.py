"""What vLLM's prefix cache stores and forgets, written down where every change passes: its map from hash to blocks.

KV cache events would say the same, but they have to be switched on for the whole server, are sent to its subscribers,
and copy each block's token ids. The map is asked for every insertion and removal whoever causes it, and only this room
sees what is written down.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from vllm.v1.core.block_pool import BlockHashToBlockMap

_INSERT, _POP = BlockHashToBlockMap.insert, BlockHashToBlockMap.pop  # called for every block that changes


class CacheLog(BlockHashToBlockMap):
    """The map, with keys (hash and group) that gained or lost a block since the step began.

    A key stands once for each block; whether it is cached is the map's to say.
    """

    def __init__(self, before: BlockHashToBlockMap) -> None:
        super().__init__()
        self.__dict__.update(before.__dict__)  # what is cached already
        self.watched: Container[bytes] = ()  # keys that somebody wants to hear of
        self.begin_step()

    def begin_step(self) -> None:
        """Forget what was written down."""
        # What gained or lost a block and is watched: asked at once, while a key is at hand, that costs little.
        self.noticed: list[bytes] = []
        self.evicted: list[bytes] = []  # what lost a block, in order
        self.lost_in_use = False  # whether such a block was held by a request, as after a failed transfer

    @property
    def resident(self) -> Container[bytes]:
        """The keys that are cached right now: vLLM's own dict, which keeps none without a block."""
        keys: Container[bytes] = self._cache.keys()
        return keys

    def insert(self, key: bytes, block: Any) -> None:
        """Add one copy."""
        _INSERT(self, key, block)
        if key in self.watched:
            self.noticed.append(key)

    def pop(self, key: bytes, block_id: int) -> Any:
        """Drop one copy."""
        block = _POP(self, key, block_id)
        if block is not None:
            self.evicted.append(key)
            if key in self.watched:
                self.noticed.append(key)
            if block.ref_cnt:
                self.lost_in_use = True
        return block


def cache_log(pool: Any) -> CacheLog:
    """Return the log of a block pool, put there if it is not: at first, and when a reset gave the pool another map."""
    found = pool.cached_block_hash_to_block
    if not isinstance(found, CacheLog):
        found = pool.cached_block_hash_to_block = CacheLog(found)
    return found

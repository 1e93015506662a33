"""A block pool whose victims an eviction order chooses."""

from __future__ import annotations

from collections.abc import Sequence

from fairway.cache.block_pool import BlockPool
from fairway.cache.eviction import Eviction


class EvictingPool(BlockPool):
    """A block pool that asks ``eviction`` which free blocks to take, in place of the least recently used."""

    def __init__(self, blocks: int, eviction: Eviction) -> None:
        super().__init__(blocks)
        self._eviction = eviction

    def touch(self, blocks: Sequence[int]) -> None:
        """Reference cached blocks."""
        super().touch(blocks)
        self._eviction.touched(blocks)

    def register(self, block: int, block_hash: int, parent_hash: int | None = None) -> None:
        """Make a full block findable under its hash."""
        super().register(block, block_hash, parent_hash)
        self._eviction.registered(block, block_hash, parent_hash)

    def release(self, blocks: Sequence[int]) -> None:
        """Give back a request's blocks, last to first."""
        super().release(blocks)
        for block in reversed(blocks):
            block_hash = self._hash_of[block]
            if not self._references[block] and block_hash is not None:
                self._eviction.freed(block, block_hash)

    def _take_free(self, count: int) -> list[int]:
        chosen = self._eviction.victims(count, self._free, self._hash_of)
        for block in chosen:
            del self._free[block]
        return chosen

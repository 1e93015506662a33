"""Which free blocks give up their content first, where that is not the least recently used."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence


class Eviction(ABC):
    """An order of eviction. Whoever keeps the blocks asks it for victims and tells it what happens to the others.

    It must keep the cache closed: a content goes only after everything that was cached behind it. Contents are known by
    their hashes, blocks by their numbers.
    """

    @abstractmethod
    def victims(self, count: int, free: Collection[int], hash_of: Sequence[int | None]) -> list[int]:
        """Choose ``count`` of the ``free`` blocks, which come least recently used first.

        ``hash_of`` gives a block's content, None if it has none. The caller takes all of them, in this order.
        """

    def registered(self, block: int, block_hash: int, parent_hash: int | None) -> None:
        """Hear that ``block`` holds this content, which continues that of ``parent_hash``."""

    def freed(self, block: int, block_hash: int) -> None:
        """Hear that nobody references a block any more that holds this content."""

    def touched(self, blocks: Sequence[int]) -> None:
        """Hear that these cached blocks are referenced (again)."""

"""The block pool of the prefix cache, as vLLM keeps it.

Blocks that nobody references stay in a free list with their content. Allocation takes the list's head, the least
recently used, and forgets its content; a hit takes a block out of the middle. Identical blocks are not merged: every
copy stays, a lookup returns the oldest one, and a hash is gone only with its last copy.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

NULL_BLOCK = 0  # one block of the pool stands for "no block" and is never used


class BlockPool:
    """``blocks`` blocks, the null block included. Every operation costs the number of blocks that it names."""

    def __init__(self, blocks: int) -> None:
        self.blocks = blocks
        self._references = [0] * blocks
        self._hash_of: list[int | None] = [None] * blocks
        self._free: OrderedDict[int, None] = OrderedDict.fromkeys(range(NULL_BLOCK + 1, blocks))
        self._copies: dict[int, list[int]] = {}  # hash -> blocks with that content, oldest first
        self.evicted: list[int] = []  # hashes of forgotten contents, until somebody takes them with `take_evicted`
        self.changed: list[int] = []  # hashes of contents registered or forgotten since `forget_changes`

    @property
    def usable_blocks(self) -> int:
        """How many blocks requests can hold at once."""
        return self.blocks - 1

    @property
    def free_blocks(self) -> int:
        """How many blocks nobody references."""
        return len(self._free)

    @property
    def resident(self) -> Mapping[int, Sequence[int]]:
        """Hash -> blocks with that content, oldest first. Reading it changes nothing."""
        return self._copies

    def free_list(self) -> list[int]:
        """Return the free blocks in the order in which they would be taken."""
        return list(self._free)

    def references(self, block: int) -> int:
        """Return how many requests hold ``block``."""
        return self._references[block]

    def longest_hit(self, chain: Sequence[int], limit: int) -> list[int]:
        """Return the blocks of the longest resident prefix of ``chain[:limit]``. Changes nothing."""
        hit = []
        copies = self._copies
        for index in range(limit):
            found = copies.get(chain[index])
            if found is None:
                break
            hit.append(found[0])
        return hit

    def unreferenced(self, blocks: Iterable[int]) -> int:
        """Return how many of ``blocks`` lie in the free list."""
        references = self._references
        return sum(references[block] == 0 for block in blocks)

    def touch(self, blocks: Sequence[int]) -> None:
        """Reference cached ``blocks``, taking those that were free out of the free list."""
        references, free = self._references, self._free
        for block in blocks:
            if references[block] == 0:
                del free[block]
            references[block] += 1

    def allocate(self, count: int) -> list[int]:
        """Take ``count`` free blocks and forget their contents; the caller checks the room."""
        taken = self._take_free(count)
        for block in taken:
            self._forget(block)
            self._references[block] = 1
        return taken

    def register(self, block: int, block_hash: int, parent_hash: int | None = None) -> None:
        """Make a full block findable under its hash; its content continues that of ``parent_hash``."""
        self._hash_of[block] = block_hash
        self._copies.setdefault(block_hash, []).append(block)
        self.changed.append(block_hash)

    def release(self, blocks: Sequence[int]) -> None:
        """Give back a request's blocks, last to first.

        Those with a hash go to the free list's end in that order, so suffixes are taken before prefixes; those without
        go to its front.
        """
        references, free, hash_of = self._references, self._free, self._hash_of
        for block in reversed(blocks):
            references[block] -= 1
            if references[block]:
                continue
            free[block] = None
            if hash_of[block] is None:
                free.move_to_end(block, last=False)

    def take_evicted(self) -> list[int]:
        """Return the hashes forgotten since the last call, in order."""
        evicted, self.evicted = self.evicted, []
        return evicted

    def forget_changes(self) -> None:
        """From now on `changed` counts anew."""
        self.changed = []

    def _take_free(self, count: int) -> list[int]:
        """Take blocks from the free list's head."""
        return [self._free.popitem(last=False)[0] for _ in range(count)]

    def _forget(self, block: int) -> None:
        block_hash = self._hash_of[block]
        if block_hash is None:
            return
        self._hash_of[block] = None
        copies = self._copies[block_hash]
        copies.remove(block)
        if not copies:
            del self._copies[block_hash]
        self.evicted.append(block_hash)
        self.changed.append(block_hash)

"""RAGCache's eviction: prefix-aware greedy dual size frequency."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import islice, takewhile

from fairway.cache.eviction import Eviction


@dataclass(slots=True)
class _Content:
    """What is known of one content, cached or not."""

    parent: int | None = None
    frequency: int = 0
    computations: int = 0
    cost_ns: float = 0.0  # summed over computations, per newly computed token
    priority: float = 0.0
    blocks: list[int] = field(default_factory=list)  # its copies in the cache
    children: int = 0  # contents cached right behind it

    @property
    def may_go(self) -> bool:
        """Whether the cache stays closed without one of its copies."""
        return len(self.blocks) > 1 or not self.children


class Pgdsf(Eviction):
    """Of the contents with nothing cached behind them the one of lowest priority goes first, ties least recently used.

    Whenever a request uses a content, its priority becomes ``clock + frequency x mean cost``: how often it was used
    since the start, and how long it took to compute, per newly computed token of the requests that computed it. The
    clock is the highest priority evicted so far, which ages what is not used. Source: arXiv 2404.12457, algorithm 1,
    with blocks in place of documents. What it leaves open: use and cost are remembered over evictions, blocks without
    content go first, and of a content with several copies one may go at any time. Cost: logarithmic per used block.
    """

    def __init__(self) -> None:
        self._clock = 0.0
        self._contents: dict[int, _Content] = {}
        self._freed = 0
        self._free: dict[int, int] = {}  # block -> when it was freed, counted in freed blocks
        # Entries go stale when their block is taken or their content used; those are skipped when they come up.
        self._heap: list[tuple[float, int, int, int]] = []  # priority, when freed, block, content

    def used(self, prefix: Sequence[int], hit_blocks: int, cost_ns: float) -> None:
        """Hear that a request uses these contents and computes all but the first ``hit_blocks``.

        ``cost_ns`` is the request's prefill time per token that it computes.
        """
        for index, block_hash in enumerate(prefix):
            content = self._contents.setdefault(block_hash, _Content())
            content.frequency += 1
            if index >= hit_blocks:
                content.computations += 1
                content.cost_ns += cost_ns
            content.priority = self._clock + content.frequency * content.cost_ns / max(1, content.computations)
            self._offer(block_hash, content)

    def registered(self, block: int, block_hash: int, parent_hash: int | None) -> None:
        """Take in a copy of a content."""
        content = self._contents.setdefault(block_hash, _Content())
        content.blocks.append(block)
        if len(content.blocks) > 1:
            self._offer(block_hash, content)
            return
        content.parent = parent_hash
        if parent_hash is not None:
            self._contents[parent_hash].children += 1

    def freed(self, block: int, block_hash: int) -> None:
        """Take in a candidate."""
        self._freed += 1
        self._free[block] = self._freed
        heappush(self._heap, (self._contents[block_hash].priority, self._freed, block, block_hash))

    def touched(self, blocks: Sequence[int]) -> None:
        """Forget candidates."""
        for block in blocks:
            self._free.pop(block, None)

    def victims(self, count: int, free: Collection[int], hash_of: Sequence[int | None]) -> list[int]:
        """Choose blocks without content, which lie in front, then by priority."""
        blank = list(islice(takewhile(lambda block: hash_of[block] is None, free), count))
        return blank + [self._evict() for _ in range(count - len(blank))]

    def _evict(self) -> int:
        """Return the next victim and let it go."""
        while True:
            priority, when_freed, block, block_hash = heappop(self._heap)
            content = self._contents[block_hash]
            if self._free.get(block) == when_freed and content.priority == priority and content.may_go:
                break
        self._clock = max(self._clock, priority)
        del self._free[block]
        content.blocks.remove(block)
        if not content.blocks and content.parent is not None:
            parent = self._contents[content.parent]
            parent.children -= 1
            if not parent.children:
                self._offer(content.parent, parent)
        return block

    def _offer(self, block_hash: int, content: _Content) -> None:
        """Put a content's free copies up, at its priority and because they may go now."""
        for block in content.blocks:
            if block in self._free:
                heappush(self._heap, (content.priority, self._free[block], block, block_hash))

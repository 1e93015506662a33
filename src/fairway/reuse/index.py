"""The reuse index: how many blocks of every waiting request are cached, kept exact by what the cache changes.

A resident block's predecessors are resident (*prefix closure*), so a waiting request's hit is one frontier: the deepest
resident block of its chain. A stored block can move only the requests whose next block it is, an evicted one only those
whose last one it is. Requests that share a frontier share the segment of a tree on which it lies, and move as one.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Generic

import numpy as np
import numpy.typing as npt

from fairway.reuse.residency import Chain, ClosureError, Hash, moved_frontier
from fairway.reuse.tree import PrefixTree, Segment


class ReuseIndex(Generic[Hash]):
    """Hits of requests that wait, each at a slot: a small number that its owner gives it and may give again later.

    They are counted in tokens, ``block_tokens`` a block, or in blocks if that is 1. ``resident`` tells which hashes are
    cached, and is read by `update` alone.

    Cost: `update` costs one look-up for each changed hash, for each frontier that moved a few look-ups and one write to
    the array of its requests' hits, and for each new request a few look-ups for each segment of its chain; `add` costs
    next to nothing, `remove` the segments of one chain. Memory: that of the chains, and about a kilobyte a request.
    """

    def __init__(self, resident: Container[Hash], block_tokens: int = 1) -> None:
        self._resident = resident
        self._block_tokens = block_tokens
        self._tree: PrefixTree[Hash] = PrefixTree()
        self._added: dict[int, tuple[Chain[Hash], int]] = {}  # since the last update
        self._hit_tokens = np.zeros(64, dtype=np.int64)

    @property
    def hit_tokens(self) -> npt.NDArray[np.int64]:
        """Hits by slot, as of the last `update`. Without meaning where no request is."""
        return self._hit_tokens

    @property
    def watched(self) -> Container[Hash]:
        """The hashes whose changes move somebody's hit, always as of now; another object after `reset`.

        Only these have to be in what `update` is given. It costs less to look them up here where they change.
        """
        return self._tree.watched

    def add(self, slot: int, chain: Chain[Hash], blocks: int) -> None:
        """Let a request wait whose first ``blocks`` blocks can hit; its chain must not change until it is removed."""
        if slot >= len(self._hit_tokens):
            self._hit_tokens = np.concatenate([self._hit_tokens, np.zeros(slot + 1, dtype=np.int64)])
        self._added[slot] = chain, blocks

    def remove(self, slot: int) -> None:
        """Let a request go."""
        if self._added.pop(slot, None) is None:
            self._tree.remove(slot)

    def update(self, changed: Iterable[Hash]) -> None:
        """Bring all hits up to date, where ``changed`` holds all that was stored or evicted since the last time.

        Of these it may leave out what was not `watched` when it changed.

        In any order, as often as one likes; whether a hash is resident now is all that counts, so one of several copies
        may come and go.

        Raises:
            ClosureError: a cached block was seen whose predecessor is not cached. Hits may be wrong until `reset`.
        """
        for segment in self._tree.touched_by(changed):
            self._look(segment)
        while self._added:
            slot, (chain, blocks) = self._added.popitem()
            last = self._tree.insert(slot, chain, blocks)
            self._look(last)
            self._hit_tokens[slot] = last.hit_blocks * self._block_tokens

    def reset(self, resident: Container[Hash]) -> None:
        """Begin anew, with the same requests over another cache."""
        self._resident = resident
        self._added |= self._tree.chains()
        self._tree = PrefixTree()

    def _look(self, segment: Segment[Hash]) -> None:
        """See how far a segment is resident now, and tell its requests if that has changed."""
        before, parent = segment.frontier, segment.parent
        if parent is None or (before == segment.start and segment.first not in self._resident):
            return
        frontier = moved_frontier(self._resident, segment.chain, segment.start, segment.end, before)
        if frontier == before:
            return
        self._tree.move_frontier(segment, frontier)
        if parent.is_resident:
            self._hit_tokens[segment.members.as_array()] = frontier * self._block_tokens
        elif frontier > segment.start:
            raise ClosureError(f"block {frontier - 1} of a waiting request is cached, block {parent.frontier} is not")

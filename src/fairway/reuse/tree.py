"""The chains of waiting requests as a tree of segments, cut where chains part or end."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable
from operator import attrgetter
from typing import Generic

from fairway.reuse.residency import Chain, Hash
from fairway.reuse.slots import SlotSet

_START = attrgetter("start")


class Segment(Generic[Hash]):
    """A run of blocks that the same waiting requests go through: ``chain[start:end]`` of each of them.

    Of these, the blocks before ``frontier`` are resident. ``chain`` is that of any member. The hashes by which it is
    found stand here too, so that nobody reads them again from a chain that has not been touched for long.
    """

    __slots__ = ("chain", "children", "end", "first", "frontier", "members", "parent", "start", "watched")

    def __init__(
        self, parent: Segment[Hash] | None, chain: Chain[Hash], first: Hash, start: int, end: int, members: SlotSet
    ) -> None:
        self.parent = parent
        self.chain = chain
        self.first = first  # the hash of its first block
        self.watched: tuple[Hash, ...] = ()  # those next to its frontier
        self.start = start
        self.end = end
        self.frontier = start
        self.members = members
        self.children: dict[Hash, Segment[Hash]] = {}  # by their first block

    @property
    def is_resident(self) -> bool:
        """Whether all blocks are resident."""
        return self.frontier == self.end

    @property
    def hit_blocks(self) -> int:
        """The resident blocks of a chain that ends with this segment. Cost: the segments on the way to the root."""
        segment = self
        while segment.parent is not None and segment.frontier == segment.start:
            segment = segment.parent
        return segment.frontier


class PrefixTree(Generic[Hash]):
    """Segments by the hashes next to their frontiers, which are those whose coming or going moves one.

    Equal hashes stand for equal prefixes, so a block belongs to one segment, and where two chains part is found by
    halving. Memory: at most two segments for each chain, and the chains.
    """

    def __init__(self) -> None:
        self._root: Segment[Hash] = Segment(None, (), None, 0, 0, SlotSet())  # type: ignore[arg-type]  # it has no block
        self._watched: dict[Hash, Segment[Hash]] = {}
        self._held: dict[int, tuple[Chain[Hash], Segment[Hash]]] = {}  # a slot's chain, and the segment where it ends

    @property
    def watched(self) -> Container[Hash]:
        """The hashes next to a frontier."""
        return self._watched.keys()

    def touched_by(self, changed: Iterable[Hash]) -> list[Segment[Hash]]:
        """Return the segments whose frontier may have moved, those nearer to the root first.

        Every other frontier still has its last block and still lacks its next one. Cost: one look-up for each hash.
        """
        watched = self._watched
        keys = watched.keys() & changed
        return sorted({watched[key] for key in keys}, key=_START) if keys else []

    def move_frontier(self, segment: Segment[Hash], frontier: int) -> None:
        """Note how far a segment is resident."""
        self._unwatch(segment)
        segment.frontier = frontier
        self._watch(segment)

    def insert(self, slot: int, chain: Chain[Hash], blocks: int) -> Segment[Hash]:
        """Let a slot go through the segments of ``chain[:blocks]``; return the last one.

        That is a new one, with nothing resident yet, where the chain parts from all others.
        """
        segment, depth = self._root, 0
        while depth < blocks:
            first = chain[depth]
            child = segment.children.get(first)
            if child is None:
                child = segment.children[first] = Segment(segment, chain, first, depth, blocks, SlotSet(slot))
                child.watched = (first,)
                self._watched[first] = child
            else:
                common = _common(child.chain, chain, depth + 1, min(child.end, blocks))
                if common < child.end:
                    child = self._cut(child, common)
                child.members.add(slot)
            segment, depth = child, child.end
        self._held[slot] = chain, segment
        return segment

    def remove(self, slot: int) -> None:
        """Take a slot out of all its segments, and join or drop those that are not needed without it."""
        chain, segment = self._held.pop(slot)
        while (parent := segment.parent) is not None:
            members = segment.members
            if len(members) == 1:
                self._unwatch(segment)
                del parent.children[segment.first]
            else:
                members.remove(slot)
                if segment.chain is chain:
                    segment.chain, _ = self._held[members.any()]
                if len(segment.children) == 1:
                    self._join_only_child(segment)
            segment = parent

    def chains(self) -> dict[int, tuple[Chain[Hash], int]]:
        """Return each slot's chain and how many of its blocks are here."""
        return {slot: (chain, last.end) for slot, (chain, last) in self._held.items()}

    # shape

    def _cut(self, segment: Segment[Hash], block: int) -> Segment[Hash]:
        """Make two segments of one, the second from ``block`` on; return the first, which is a new object."""
        parent, chain = segment.parent, segment.chain
        assert parent is not None
        self._unwatch(segment)
        upper = Segment(parent, chain, segment.first, segment.start, block, segment.members.copy())
        upper.frontier = min(segment.frontier, block)
        parent.children[upper.first] = upper
        segment.parent, segment.start, segment.frontier = upper, block, max(segment.frontier, block)
        segment.first = chain[block]
        upper.children[segment.first] = segment
        self._watch(upper)
        self._watch(segment)
        return upper

    def _join_only_child(self, segment: Segment[Hash]) -> None:
        """Undo a cut that nobody needs any more: one child through which all members go."""
        (child,) = segment.children.values()
        if len(child.members) != len(segment.members):
            return
        assert segment.parent is not None
        self._unwatch(segment)
        self._unwatch(child)
        frontier = child.frontier if segment.is_resident else segment.frontier
        child.parent, child.first, child.start, child.frontier = segment.parent, segment.first, segment.start, frontier
        child.parent.children[child.first] = child
        self._watch(child)

    # the blocks next to a frontier

    def _watch(self, segment: Segment[Hash]) -> None:
        chain, frontier = segment.chain, segment.frontier
        around = range(max(segment.start, frontier - 1), min(frontier + 1, segment.end))
        segment.watched = tuple(chain[block] for block in around)
        self._watched.update(dict.fromkeys(segment.watched, segment))

    def _unwatch(self, segment: Segment[Hash]) -> None:
        for key in segment.watched:
            del self._watched[key]


def _common(one: Chain[Hash], other: Chain[Hash], low: int, high: int) -> int:
    """Return how many blocks two chains share, of ``high``; they share ``low``."""
    if one[high - 1] == other[high - 1]:
        return high
    return bisect_left(range(high), True, lo=low, key=lambda block: one[block] != other[block])

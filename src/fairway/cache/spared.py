"""Eviction that spares what waiting requests need."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice

from fairway.cache.eviction import Eviction


class SparedPrefixes(Eviction):
    """Unneeded blocks go first, then needed ones from that whose best wanter ranks worst; ties least recently used.

    What is needed is a content, so every copy of it counts. A wanter needs a prefix, so a content ranks no worse than
    what was cached behind it, and the cache stays closed. Cost of the first eviction after `spare`: the number of
    needed contents.
    """

    def __init__(self) -> None:
        self._wanted: Sequence[Sequence[int]] = ()
        self._rank_of: dict[int, int] | None = {}

    def spare(self, wanted: Sequence[Sequence[int]]) -> None:
        """Spare these cached prefixes, as hashes, the most precious first, until called again."""
        self._wanted = wanted
        self._rank_of = None

    def victims(self, count: int, free: Collection[int], hash_of: Sequence[int | None]) -> list[int]:
        """Choose unneeded blocks, and needed ones where those do not suffice."""
        rank_of = self._ranks()
        chosen = list(islice((block for block in free if hash_of[block] not in rank_of), count))
        missing = count - len(chosen)
        if missing:
            ranked = [(rank_of[content], block) for block in free if (content := hash_of[block]) in rank_of]
            ranked.sort(key=lambda pair: -pair[0])  # stable: ties stay least recently used first
            chosen += [block for _, block in ranked[:missing]]
        return chosen

    def _ranks(self) -> dict[int, int]:
        """Return needed contents with the rank of their best wanter."""
        if self._rank_of is None:
            self._rank_of = ranks = {}
            for rank, prefix in enumerate(self._wanted):
                for content in reversed(prefix):
                    if content in ranks:  # then so are all before it, with better ranks
                        break
                    ranks[content] = rank
        return self._rank_of

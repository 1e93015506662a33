"""The frontier of a waiting request: how many blocks of its chain are resident right now."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TypeVar

Hash = TypeVar("Hash")


def moved_frontier(resident: Container[Hash], chain: Sequence[Hash], limit: int, before: int) -> int:
    """Return the length in blocks of the longest resident prefix of ``chain[:limit]``, at the cost of how far it moved.

    A resident block's ancestors are resident: whoever holds a block holds its ancestors, and suffixes are freed before
    prefixes. So a frontier is exact if its last block is resident and the next one is not. ``before`` is the frontier
    when last looked at.
    """
    frontier = before
    while frontier and chain[frontier - 1] not in resident:
        frontier -= 1
    while frontier < limit and chain[frontier] in resident:
        frontier += 1
    return frontier

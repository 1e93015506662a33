"""How far into a chain of blocks the cache reaches, read from where it reached before."""

from __future__ import annotations

from collections.abc import Container, Hashable
from typing import Protocol, TypeVar

Hash = TypeVar("Hash", bound=Hashable)
HashRead = TypeVar("HashRead", bound=Hashable, covariant=True)


class Chain(Protocol[HashRead]):
    """The hashes of a prompt's blocks; each stands for its block and all before it."""

    def __getitem__(self, block: int, /) -> HashRead:
        """Return the hash of a block, counted from 0."""


class ClosureError(Exception):
    """A cached block was seen whose predecessor is not cached."""


def moved_frontier(resident: Container[Hash], chain: Chain[Hash], start: int, end: int, before: int) -> int:
    """Return how far ``chain[start:end]`` is resident, as an index into ``chain``; it was ``before``.

    A resident block's predecessors are resident: whoever holds a block holds them, and suffixes are freed before
    prefixes. So there is one place where residency ends, and one look says on which side of ``before`` it is now.
    Cost: the logarithm of how far it moved.
    """
    if before > start and chain[before - 1] not in resident:
        return _receded(resident, chain, start, before - 1)
    if before == end or chain[before] not in resident:
        return before
    return _advanced(resident, chain, before, end)


def _advanced(resident: Container[Hash], chain: Chain[Hash], low: int, end: int) -> int:
    """Return where residency ends, at ``low`` or behind it: ever longer strides, then halves of the last one."""
    stride = 1
    while low + stride <= end and chain[low + stride - 1] in resident:
        low += stride
        stride *= 2
    return _frontier(resident, chain, low, min(low + stride - 1, end))


def _receded(resident: Container[Hash], chain: Chain[Hash], start: int, high: int) -> int:
    """Return where residency ends, at ``high`` or before it."""
    stride = 1
    while high - stride >= start and chain[high - stride] not in resident:
        high -= stride
        stride *= 2
    return _frontier(resident, chain, max(high - stride + 1, start), high)


def _frontier(resident: Container[Hash], chain: Chain[Hash], low: int, high: int) -> int:
    """Return where residency ends, between ``low`` and ``high``."""
    while low < high:
        middle = (low + high) // 2
        if chain[middle] in resident:
            low = middle + 1
        else:
            high = middle
    return low

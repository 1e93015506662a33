"""Which steps are measured for a profile, and in which order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

Chunks = tuple[tuple[int, int], ...]  # (new tokens, prefix tokens) of each request of one step


@dataclass(frozen=True)
class Grid:
    """The points of both tables: new tokens, each twice the one before, and prefixes, from 0 on."""

    new_tokens: tuple[int, ...]
    prefix_tokens: tuple[int, ...]
    repeats: int
    warm_up_steps: int

    def __post_init__(self) -> None:
        doubled = [2 * tokens for tokens in self.new_tokens[:-1]]
        if not self.new_tokens or list(self.new_tokens[1:]) != doubled:
            raise ValueError(f"new_tokens must double from one to the next, not {self.new_tokens}")
        if self.prefix_tokens[:1] != (0,) or list(self.prefix_tokens) != sorted(set(self.prefix_tokens)):
            raise ValueError(f"prefix_tokens must rise from 0, not {self.prefix_tokens}")


CPU_GRID = Grid((16, 32, 64, 128, 256, 512, 1024, 2048), (0, 1024, 2048, 4096, 8192), repeats=9, warm_up_steps=20)
GPU_GRID = Grid(
    (16, 32, 64, 128, 256, 512, 1024, 2048),
    (0, 1024, 2048, 4096, 8192, 16384, 30720),
    repeats=25,
    warm_up_steps=100,
)
REFERENCE: Chunks = ((256, 0),)  # measured again and again, to see whether the device drifts
_REFERENCE_EVERY = 25  # steps
_PARTS = (2, 4, 16)


def fitting(grid: Grid, budget_tokens: int, cache_tokens: int) -> Grid:
    """Return what of a grid an engine can run: chunks within the budget, contexts that the cache holds with them."""
    new = tuple(tokens for tokens in grid.new_tokens if tokens <= budget_tokens)
    prefixes = tuple(tokens for tokens in grid.prefix_tokens if tokens + max(new, default=0) <= cache_tokens)
    return replace(grid, new_tokens=new, prefix_tokens=prefixes)


def points(grid: Grid, cache_tokens: int) -> list[Chunks]:
    """Return the steps to measure: every chunk of the grid alone, and the same tokens in 2, 4 and 16 requests.

    The latter, as far as the cache holds them, tell what a step costs from what a request in it costs.
    """
    found: list[Chunks] = []
    for new in grid.new_tokens:
        for prefix in grid.prefix_tokens:
            alone = ((new, prefix),)
            mixed = [((new // parts, prefix),) * parts for parts in _PARTS if new // parts >= grid.new_tokens[0]]
            found += [chunks for chunks in (alone, *mixed) if _held(chunks) <= cache_tokens]
    return found


def checks(grid: Grid, cache_tokens: int) -> list[Chunks]:
    """Return steps of unlike chunks, which no table is fitted to: they say whether both parts add up."""
    new, prefixes = grid.new_tokens, grid.prefix_tokens
    short, half, second = new[0], new[-1] // 2, prefixes[min(1, len(prefixes) - 1)]
    candidates: list[Chunks] = [
        ((half, 0), (short, prefixes[-1])),
        ((half, prefixes[len(prefixes) // 2]), (half // 2, 0), (half // 2, second)),
        ((half // 4, prefixes[-1]), (half // 4, 0), (half // 2, second)),
    ]
    return [chunks for chunks in candidates if _held(chunks) <= cache_tokens]


def order(steps: Sequence[Chunks], repeats: int, seed: int) -> list[Chunks]:
    """Return every step ``repeats`` times in random order, with the reference step in between."""
    shuffled = [chunks for chunks in steps for _ in range(repeats)]
    random.Random(seed).shuffle(shuffled)
    ordered: list[Chunks] = []
    for place, chunks in enumerate(shuffled):
        if place % _REFERENCE_EVERY == 0:
            ordered.append(REFERENCE)
        ordered.append(chunks)
    return [*ordered, REFERENCE]


def _held(chunks: Chunks) -> int:
    return sum(new + prefix for new, prefix in chunks)

"""Which steps are measured for a profile, and in which order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from fairway.errors import InputError

Chunks = tuple[tuple[int, int], ...]  # (new tokens, prefix tokens) of each request of one step


@dataclass(frozen=True)
class Grid:
    """The points of both tables: new tokens, of which most are parts of others, and prefixes, from 0 on."""

    new_tokens: tuple[int, ...]
    prefix_tokens: tuple[int, ...]
    repeats: int
    warm_up_steps: int

    def __post_init__(self) -> None:
        if not self.new_tokens or self.new_tokens[0] < 1 or list(self.new_tokens) != sorted(set(self.new_tokens)):
            raise ValueError(f"new_tokens must rise from 1 or more, not {self.new_tokens}")
        if self.prefix_tokens[:1] != (0,) or list(self.prefix_tokens) != sorted(set(self.prefix_tokens)):
            raise ValueError(f"prefix_tokens must rise from 0, not {self.prefix_tokens}")


# One token is what a request adds that generates, and few do at once on a CPU; attention bends between 512 and 2,048,
# so points are closer there.
CPU_GRID = Grid((1, 4, 16, 64, 256, 512, 768, 1024, 1536, 2048), (0, 512, 2048, 4096), repeats=7, warm_up_steps=20)
GPU_GRID = Grid(
    (1, 16, 32, 64, 128, 256, 512, 768, 1024, 1536, 2048),
    (0, 1024, 2048, 4096, 8192, 16384, 30720),
    repeats=25,
    warm_up_steps=100,
)
REFERENCE: Chunks = ((256, 0),)  # measured again and again, to see whether the device drifts
_REFERENCE_EVERY = 25  # steps
_PARTS = (2, 3, 4, 6, 16, 64)
_HELD_OUT_STEPS = 24
_MOST_HELD_OUT_REQUESTS = 6


def fitting(grid: Grid, budget_tokens: int, cache_tokens: int) -> Grid:
    """Return what of a grid an engine can run: chunks within the budget, contexts that the cache holds with them."""
    new = tuple(tokens for tokens in grid.new_tokens if tokens <= budget_tokens)
    prefixes = tuple(tokens for tokens in grid.prefix_tokens if tokens + max(new, default=0) <= cache_tokens)
    if not new or not prefixes:
        raise InputError(
            f"a cache of {cache_tokens} tokens does not hold a step of {max(new, default=budget_tokens)}",
            remedy="give more blocks, or a smaller token budget of at least 1",
        )
    return replace(grid, new_tokens=new, prefix_tokens=prefixes)


def points(grid: Grid, cache_tokens: int) -> list[Chunks]:
    """Return the steps to measure: every chunk of the grid alone, and the same tokens in several requests.

    The latter, as far as their chunks are in the grid and the cache holds them, tell what a step costs from what a
    request in it costs; without one of them a point's two parts would not be told apart.
    """
    found: list[Chunks] = []
    for new in grid.new_tokens:
        parts = [count for count in _PARTS if not new % count and new // count in grid.new_tokens]
        for prefix in grid.prefix_tokens:
            alone = ((new, prefix),)
            mixed = [((new // count, prefix),) * count for count in parts]
            found += [chunks for chunks in (alone, *mixed) if _held(chunks) <= cache_tokens]
    return found


def checks(grid: Grid, cache_tokens: int, block_tokens: int, seed: int) -> list[Chunks]:
    """Return random steps as a server makes them, off the grid, which no table is fitted to.

    Half fill the budget; contexts are of whole blocks. Their residuals say whether both parts add up, and whether the
    grid is close enough to go between its points.
    """
    draw = random.Random(f"held out {seed}")
    found: list[Chunks] = []
    while len(found) < _HELD_OUT_STEPS:
        most = grid.new_tokens[-1]
        tokens = most if len(found) % 2 else draw.randint(1, most)
        cuts = sorted(draw.sample(range(1, tokens), min(draw.randrange(_MOST_HELD_OUT_REQUESTS), tokens - 1)))
        sizes = [end - begin for begin, end in pairwise([0, *cuts, tokens])]
        chunks = tuple((size, _some_context(grid, block_tokens, draw)) for size in sizes)
        if _held(chunks) <= cache_tokens:
            found.append(chunks)
    return found


def _some_context(grid: Grid, block_tokens: int, draw: random.Random) -> int:
    return draw.choice((0, 1, 1)) * block_tokens * draw.randint(0, grid.prefix_tokens[-1] // block_tokens)


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


def generates(chunks: Chunks) -> bool:
    """Say whether a step is one of requests that generate: each adds one token."""
    return all(new == 1 for new, _ in chunks)


def _held(chunks: Chunks) -> int:
    return sum(new + prefix for new, prefix in chunks)

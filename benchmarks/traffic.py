"""The traces that are measured: questions about documents, made part by part, so that a million need little memory.

The shape is that of the workload `sec-dynamic-a` with deeper units: a system prompt that all share, the leading
excerpts of one of 300 units, Zipf over units, and a question of one's own; 5.4k tokens or 340 blocks on average.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairway.traces import Trace
from fairway.traces.arrivals import NS_PER_US, US_PER_S
from fairway.traces.columns import offsets
from fairway.traces.streams import Float64Array, scale_to_integers, stream
from fairway.traces.trace import Int64Array

BLOCK_TOKENS = 16
PART_REQUESTS = 1 << 14  # made at once
KINDS = np.array(["usual", "fewer", "deeper"], dtype=np.object_)


@dataclass(frozen=True)
class Content:
    """What prompts are made of. Lengths in blocks are whole, so nothing is shared in part of a block."""

    units: int = 300
    popularity_exponent: float = 1.2
    system_blocks: int = 8
    excerpt_blocks: int = 32
    usual_excerpts: tuple[int, int] = (2, 25)  # a unit's own number, uniform
    fewer_share: float = 0.15  # questions that take fewer excerpts than usual
    deeper_share: float = 0.15  # questions that add excerpts that nobody else uses
    most_own_excerpts: int = 3
    question_tokens: tuple[int, int] = (50, 150)


@dataclass(frozen=True)
class Arrivals:
    """A crowd that is there at 0, and a Poisson stream behind it."""

    rate_per_s: float
    crowd: int = 0


def parts(content: Content, arrivals: Arrivals, seed: int, requests: int) -> Iterator[Trace]:
    """Yield a trace of ``requests`` requests in parts; a longer trace begins with the shorter one."""
    maker = _Maker(content, arrivals, seed)
    for start in range(0, requests, PART_REQUESTS):
        yield maker.part(min(PART_REQUESTS, requests - start))


class _Maker:
    """What is remembered from part to part: the streams of random numbers, the time, and the next unused id."""

    def __init__(self, content: Content, arrivals: Arrivals, seed: int) -> None:
        self._content = content
        self._arrivals = arrivals
        names = ("units", "depths", "fewer", "own", "questions", "gaps")
        self._streams = {name: stream(seed, f"benchmark {name}") for name in names}
        usual = stream(seed, "benchmark usual").random(content.units)
        self._usual_excerpts = scale_to_integers(usual, *content.usual_excerpts)
        unit_blocks = self._usual_excerpts * content.excerpt_blocks
        self._unit_ids = content.system_blocks + np.cumsum(unit_blocks) - unit_blocks
        self._unused_id = content.system_blocks + int(unit_blocks.sum())
        weights = np.arange(1, content.units + 1) ** -content.popularity_exponent
        self._popularity = np.cumsum(weights / weights.sum())
        self._crowd = arrivals.crowd
        self._now_s = 0.0

    def part(self, count: int) -> Trace:
        """Return the next ``count`` requests."""
        content = self._content
        unit = np.minimum(np.searchsorted(self._popularity, self._uniform("units", count)), content.units - 1)
        shared, own, kind = self._excerpts(self._usual_excerpts[unit], count)
        question_tokens = scale_to_integers(self._uniform("questions", count), *content.question_tokens)
        own_blocks = own * content.excerpt_blocks - (-question_tokens // BLOCK_TOKENS)
        own_ids = self._unused_id + np.cumsum(own_blocks) - own_blocks
        self._unused_id += int(own_blocks.sum())
        blocks = np.stack([np.full(count, content.system_blocks), shared * content.excerpt_blocks, own_blocks], axis=1)
        first_ids = np.stack([np.zeros(count, dtype=np.int64), self._unit_ids[unit], own_ids], axis=1)
        whole_blocks = content.system_blocks + (shared + own) * content.excerpt_blocks
        return Trace(
            arrival_ns=self._arrival_ns(count),
            prompt_tokens=whole_blocks * BLOCK_TOKENS + question_tokens,
            output_tokens=np.ones(count, dtype=np.int64),
            block_ids=_runs(first_ids.ravel(), blocks.ravel()),
            block_offsets=offsets(blocks.sum(axis=1)),
            block_tokens=BLOCK_TOKENS,
            kind=tuple(kind),
            phase=("",) * count,
        )

    def _excerpts(self, usual: Int64Array, count: int) -> tuple[Int64Array, Int64Array, list[str]]:
        """Return how many of its unit's excerpts each question takes, how many of its own it adds, and its kind."""
        content = self._content
        depth = self._uniform("depths", count)
        fewer = scale_to_integers(self._uniform("fewer", count), 1, usual - 1)
        own = scale_to_integers(self._uniform("own", count), 1, content.most_own_excerpts)
        kind = np.select([depth < content.fewer_share, depth >= 1 - content.deeper_share], [1, 2], 0)
        return np.where(kind == 1, fewer, usual), np.where(kind == 2, own, 0), KINDS[kind].tolist()

    def _arrival_ns(self, count: int) -> Int64Array:
        """Return the next arrivals, whole microseconds."""
        gaps_s = self._streams["gaps"].standard_exponential(count) / self._arrivals.rate_per_s
        present = min(count, self._crowd)
        gaps_s[:present] = 0.0
        self._crowd -= present
        times_s = self._now_s + np.cumsum(gaps_s)
        self._now_s = float(times_s[-1])
        return np.floor(times_s * US_PER_S).astype(np.int64) * NS_PER_US

    def _uniform(self, name: str, count: int) -> Float64Array:
        return self._streams[name].random(count)


def _runs(first_ids: Int64Array, lengths: Int64Array) -> npt.NDArray[np.int32]:
    """Return runs of ids, each counting upwards from its first, end to end."""
    ends = np.cumsum(lengths)
    ids = np.repeat(first_ids - (ends - lengths), lengths)
    return (ids + np.arange(ends[-1])).astype(np.int32)

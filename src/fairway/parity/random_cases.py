"""Random cases that meet the corners of an engine: shared prefixes, full caches, long queues, aborts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from fairway.engine import Limits
from fairway.parity.case import BLOCK_TOKENS, Arrival, Case

MS = 1_000  # in microseconds, the unit of a case's times
BUDGETS = (16, 17, 40, 64, 200, 512, 2048, 8192)
MAX_NUM_SEQS = (1, 2, 3, 8, 64, 256)
GAPS_US = (1, 3 * MS, 30 * MS, 200 * MS)
ABORTED = (0, 0, 0.2)


@dataclass(frozen=True)
class _Shape:
    """What the requests of one case have in common."""

    requests: int
    gap_us: int  # longest time between two arrivals
    same_instant: float  # share of requests that arrive together with the one before
    most_output_tokens: int
    aborted: float  # share of requests


def random_case(seed: int) -> Case:
    """Return the case of that seed, the same everywhere."""
    draw = random.Random(seed)
    kind = draw.choices([_mixed, _burst, _crowd], weights=[8, 1, 2])[0]
    limits, shape = kind(draw)
    return Case(limits, tuple(_arrivals(draw, shape)))


def _mixed(draw: random.Random) -> tuple[Limits, _Shape]:
    """Anything: tiny to large caches and budgets, one to many output tokens."""
    shape = _Shape(
        requests=draw.randint(5, 150),
        gap_us=draw.choice(GAPS_US),
        same_instant=0.2,
        most_output_tokens=draw.choice([1, 1, 2, 8, 40, 150]),
        aborted=draw.choice(ABORTED),
    )
    return _limits(draw), shape


def _burst(draw: random.Random) -> tuple[Limits, _Shape]:
    """Hundreds of requests wait at once."""
    shape = _Shape(
        requests=draw.randint(200, 500),
        gap_us=draw.choice(GAPS_US),
        same_instant=0.95,
        most_output_tokens=draw.choice([1, 1, 4]),
        aborted=draw.choice(ABORTED),
    )
    return _limits(draw), shape


def _crowd(draw: random.Random) -> tuple[Limits, _Shape]:
    """Many requests run at once and outgrow a small cache, so some are preempted."""
    limits = replace(_limits(draw), cache_blocks=draw.randint(12, 60), max_num_seqs=draw.choice([8, 64, 256]))
    shape = _Shape(
        requests=draw.randint(20, 150),
        gap_us=draw.choice(GAPS_US) // 20,
        same_instant=0.2,
        most_output_tokens=draw.choice([40, 150]),
        aborted=draw.choice(ABORTED),
    )
    return limits, shape


def _limits(draw: random.Random) -> Limits:
    return Limits(
        cache_blocks=draw.choice([draw.randint(3, 20), draw.randint(10, 80), draw.randint(80, 600), 4000]),
        budget_tokens=draw.choice(BUDGETS),
        max_num_seqs=draw.choice(MAX_NUM_SEQS),
        block_tokens=draw.choice([16, 16, 16, 32]),
    )


def _arrivals(draw: random.Random, shape: _Shape) -> Iterator[Arrival]:
    unused_id = count()
    documents = _documents(draw, unused_id)
    prompts: list[tuple[int, tuple[int, ...]]] = []
    now_us = 0
    for _ in range(shape.requests):
        if draw.random() >= shape.same_instant:
            now_us += draw.randint(0, shape.gap_us)
        repeats = prompts and draw.random() < 0.2
        prompts.append(draw.choice(prompts) if repeats else _prompt(draw, documents, unused_id))
        abort_us = now_us + draw.randint(0, draw.choice([50, 1000]) * MS) if draw.random() < shape.aborted else None
        prompt_tokens, block_ids = prompts[-1]
        yield Arrival(now_us, prompt_tokens, draw.randint(1, shape.most_output_tokens), block_ids, abort_us)


def _documents(draw: random.Random, unused_id: Iterator[int]) -> list[list[int]]:
    longest_blocks = draw.choice([2, 8, 30])
    return [[next(unused_id) for _ in range(draw.randint(1, longest_blocks))] for _ in range(draw.randint(1, 12))]


def _prompt(draw: random.Random, documents: list[list[int]], unused_id: Iterator[int]) -> tuple[int, tuple[int, ...]]:
    """Begin with a part of a document, so that prompts are prefixes of one another; half end with a full block."""
    document = draw.choice(documents)
    ids = document[: draw.randint(1, len(document))]
    ids += [next(unused_id) for _ in range(draw.choice([0, 0, 1, 4]))]
    missing_tokens = draw.choice([0, 0, 0, 1, 5, BLOCK_TOKENS - 1])
    return len(ids) * BLOCK_TOKENS - missing_tokens, tuple(ids)

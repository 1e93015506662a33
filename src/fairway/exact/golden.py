"""Golden examples worked by hand: Fairway's score and order on a few small queues."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fairway.policies import QueueView, make_policy
from fairway.policies.fairway import NS_PER_S, relative_score

MULTIPLE, FLOOR_NS = 3, NS_PER_S
NO_FLOOR_NS = 1  # "floor ignored": as low as patience can be


@dataclass(frozen=True)
class Example:
    """One worked example: what must come out, and what does."""

    name: str
    expected: object
    computed: Callable[[], object]

    @property
    def holds(self) -> bool:
        """Whether the computed value equals the expected one."""
        return self.computed() == self.expected


def queue(hits: Sequence[int], uncached: Sequence[int]) -> QueueView:
    """Return requests that have just arrived, oldest first, with these cached and uncached tokens.

    Each prefill takes 1 s, and what is left of it is in proportion to the uncached tokens.
    """
    hit_tokens, uncached_tokens = np.array(hits, dtype=np.int64), np.array(uncached, dtype=np.int64)
    n_tokens = hit_tokens + uncached_tokens
    count = len(n_tokens)
    return QueueView(
        now_ns=0,
        arrival_ns=np.zeros(count, dtype=np.int64),
        n_tokens=n_tokens,
        hit_tokens=hit_tokens,
        prefill_ns=np.full(count, NS_PER_S, dtype=np.int64),
        head_id=np.arange(count, dtype=np.int64),
        request_id=np.arange(count, dtype=np.int64),
        remaining_ns=NS_PER_S * uncached_tokens // np.maximum(1, n_tokens),
    )


def miss_before_ten_hits() -> QueueView:
    """Return M (h 0, c 6000), the oldest, and H1 to H10 (h 6000, c 300)."""
    return queue([0] + [6000] * 10, [6000] + [300] * 10)


def _order(policy: str, view: QueueView) -> list[int]:
    return list(make_policy(policy).order(view))


def _orders_of_one_instance() -> list[list[int]]:
    policy = make_policy("fairway")
    return [list(policy.order(miss_before_ten_hits())) for _ in range(2)]


def _score(hit: int, uncached: int, waited_ns: int, prefill_ns: int, floor_ns: int) -> float:
    return float(relative_score(hit, uncached, waited_ns, prefill_ns, MULTIPLE, floor_ns))


FIVE_HITS_THEN_MISS = [1, 2, 3, 4, 5, 0, 6, 7, 8, 9, 10]
# patience of 1 s: a prefill of 0.1 s is below the floor; patience of 4 s: a prefill of 4/3 s
SHORT_PREFILL_NS, LONG_PREFILL_NS = NS_PER_S // 10, 4 * NS_PER_S // 3

EXAMPLES = (
    Example(
        "a: five hits pass a miss of 6,000 tokens, then it is released",
        FIVE_HITS_THEN_MISS,
        lambda: _order("fairway", miss_before_ten_hits()),
    ),
    Example(
        "a: longest prefix first puts the miss last",
        [*range(1, 11), 0],
        lambda: _order("lpm", miss_before_ten_hits()),
    ),
    Example("b: 6,000 cached, 300 to compute: 20", 20.0, lambda: _score(6000, 300, 0, NS_PER_S, FLOOR_NS)),
    Example("b: 6,000 cached, 3,000 to compute: 2", 2.0, lambda: _score(6000, 3000, 0, NS_PER_S, FLOOR_NS)),
    Example("c: 2 s of 1 s patience: 2", 2.0, lambda: _score(0, 300, 2 * NS_PER_S, SHORT_PREFILL_NS, FLOOR_NS)),
    Example(
        "c: 2 s of 4 s patience: 0.5",
        0.5,
        lambda: round(_score(0, 9000, 2 * NS_PER_S, LONG_PREFILL_NS, FLOOR_NS), 8),  # 4/3 s is not whole in ns
    ),
    Example(
        "d: a miss that waited three prefills scores as a fresh request half cached",
        (1.0, 1.0),
        lambda: (
            _score(0, 4000, 3 * SHORT_PREFILL_NS, SHORT_PREFILL_NS, NO_FLOOR_NS),
            _score(2000, 2000, 0, SHORT_PREFILL_NS, NO_FLOOR_NS),
        ),
    ),
    Example(
        "e: patience comes from the whole prompt: 6,300 tokens, 6,000 cached, waited 3 T(6300, 0): 21",
        21.0,
        lambda: _score(6000, 300, 3 * LONG_PREFILL_NS, LONG_PREFILL_NS, NO_FLOOR_NS),
    ),
    Example(
        "f: the same order twice on one instance: ledgers start anew",
        [FIVE_HITS_THEN_MISS, FIVE_HITS_THEN_MISS],
        _orders_of_one_instance,
    ),
)

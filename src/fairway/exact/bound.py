"""The overtaking bound: how much work Fairway ever releases ahead of the oldest request within one step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairway.policies import Policy, QueueView, make_policy
from fairway.policies.fairway import NS_PER_S

WEIGHT = 4
MOST_WAITING = 40
SCALES = (1, 30, 300, 3_000, 16_000)  # uncached tokens of a request are drawn up to one of these


@dataclass(frozen=True)
class Overtaking:
    """Work released ahead of the oldest request, and the bound on it (None where nothing was released ahead)."""

    ahead_tokens: int
    bound_tokens: float | None

    @property
    def holds(self) -> bool:
        """Whether the work stays within the bound."""
        return self.bound_tokens is None or self.ahead_tokens <= self.bound_tokens


def overtaking(policy: Policy, view: QueueView) -> Overtaking:
    """Measure one order against ``c_oldest / 4 - c(first released) + c(last released before the oldest)``."""
    work = np.maximum(view.uncached_tokens, 1).tolist()
    ahead = []
    for position in policy.order(view):
        if position == 0:
            break
        ahead.append(work[position])
    if not ahead:
        return Overtaking(0, None)
    return Overtaking(sum(ahead), work[0] / WEIGHT - ahead[0] + ahead[-1])


def random_queue(rng: np.random.Generator) -> QueueView:
    """Return a queue of 1 to 40 requests whose sizes, hits and waits spread over several orders of magnitude."""
    count = int(rng.integers(1, MOST_WAITING + 1))
    uncached = rng.integers(0, rng.choice(SCALES, count) + 1)  # 0 too: no engine shows that, yet it must not break
    hit_tokens = rng.integers(0, 1024, count) * 16 * rng.integers(0, 2, count)
    now_ns = 100 * NS_PER_S
    arrival_ns = np.sort(rng.integers(0, now_ns + 1, count))
    return QueueView(
        now_ns=now_ns,
        arrival_ns=arrival_ns,
        n_tokens=hit_tokens + uncached,
        hit_tokens=hit_tokens,
        prefill_ns=(hit_tokens + uncached + 1) * 130_000,  # about an A6000's rate; the bound does not depend on it
        head_id=np.arange(count, dtype=np.int64),
        request_id=np.arange(count, dtype=np.int64),
    )


def count_violations(queues: int, seed: int) -> int:
    """Return in how many of ``queues`` random queues Fairway breaks the bound."""
    rng = np.random.Generator(np.random.PCG64(seed))
    policy = make_policy("fairway")
    return sum(not overtaking(policy, random_queue(rng)).holds for _ in range(queues))

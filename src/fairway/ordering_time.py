"""How long policies take to order a queue whose hits are known: time of this machine, unlike everything simulated."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairway.errors import InputError
from fairway.policies import Capability, Policy, QueueView, make_policy

NS_PER_S = 1_000_000_000
NS_PER_TOKEN = 130_000  # about an A6000's; only the size of the numbers matters here
BLOCK_TOKENS = 16


@dataclass(frozen=True)
class OrderingTime:
    """What one policy took for one step's order; percentiles over repetitions."""

    policy: str
    waiting: int
    median_us: float
    p90_us: float
    repetitions: int


def measure(
    policies: Sequence[str], waiting: Sequence[int], repetitions: int, budget_tokens: int, seed: int
) -> Iterator[OrderingTime]:
    """Yield the ordering time of every policy at every queue length.

    A repetition is all that a policy does at a hook, the view given: hear of it, say whose hits are spared, and yield
    positions until their uncached tokens fill ``budget_tokens``. ``InputError`` for an unknown policy, and for less
    than one request or repetition.
    """
    if min(*waiting, repetitions) < 1:
        raise InputError("nothing to measure", remedy="give at least 1 waiting request and 1 repetition")
    for count in waiting:
        view = random_view(count, seed)
        for name in policies:
            policy = make_policy(name)
            _one_hook(policy, view, budget_tokens)  # a policy's first hook builds what the later ones keep
            times_us = sorted(_one_hook(policy, view, budget_tokens) / 1000 for _ in range(repetitions))
            p90_us = times_us[-(-9 * repetitions // 10) - 1]
            yield OrderingTime(name, count, statistics.median(times_us), p90_us, repetitions)


def machine() -> dict[str, str | int]:
    """Return what the times depend on: processor, cores, and the versions of Python and numpy."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def random_view(count: int, seed: int) -> QueueView:
    """Return a queue of prompts of 100 to 16,000 tokens, a third of them cold, arrived over the last 10 s."""
    rng = np.random.Generator(np.random.PCG64([seed, count]))
    n_tokens = rng.integers(100, 16_001, count)
    cached = n_tokens * rng.integers(0, 64, count) // 64 * (rng.integers(0, 3, count) > 0)
    hit_tokens = cached // BLOCK_TOKENS * BLOCK_TOKENS
    return QueueView(
        now_ns=10 * NS_PER_S,
        arrival_ns=np.sort(rng.integers(0, 10 * NS_PER_S, count)),
        n_tokens=n_tokens,
        hit_tokens=hit_tokens,
        prefill_ns=n_tokens * NS_PER_TOKEN,
        head_id=rng.integers(0, max(1, count // 4), count),
        request_id=np.arange(count, dtype=np.int64),
        remaining_ns=(n_tokens - hit_tokens) * NS_PER_TOKEN,
    )


def _one_hook(policy: Policy, view: QueueView, budget_tokens: int) -> int:
    """Return the ns that a policy takes for the order of one step."""
    uncached = view.uncached_tokens.tolist()
    capabilities = policy.capabilities
    start_ns = time.perf_counter_ns()
    if Capability.ON_HOOK in capabilities:
        policy.on_hook(view)
    if Capability.VICTIM_RANK in capabilities:
        policy.victim_rank(view)
    for position in policy.order(view):
        budget_tokens -= uncached[position]
        if budget_tokens <= 0:
            break
    return time.perf_counter_ns() - start_ns


def _processor() -> str:
    """Return the processor's name where the system tells it."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or "unknown"

"""Made-up rows of a two-phase workload, for tests of the analysis."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairway import rows

PHASES = (("warm-up", 60), ("steady", 120), ("burst", 20), ("gap", 40), ("spike", 60), ("recovery", 60))
SPEED = {"fcfs": 5.0, "lpm": 1.0, "ragcache": 0.8, "fairway": 0.9}


def write_result(
    root: Path,
    workload: str,
    policy: str,
    *,
    seeds: int = 5,
    requests_per_s: float = 2.0,
    of_runs: Mapping[str, list[Any]] | None = None,
    **changes: Any,
) -> Path:
    """Write one result's rows below ``root``.

    ``changes`` replace columns of the request rows by constants, ``of_runs`` whole columns of the runs.
    """
    folder = root / workload / policy
    tables = [_seed_rows(workload, seed, requests_per_s, SPEED.get(policy, 2.0)) for seed in range(1, seeds + 1)]
    names = {"workload": workload, "policy": policy}
    requests, hooks, runs = (_join([table[i] for table in tables], names) for i in range(3))
    runs |= {"backend": ["sim"] * seeds, **(of_runs or {})}
    requests |= {name: [value] * len(requests["seed"]) for name, value in changes.items()}
    rows.write_rows(folder, requests, hooks, runs)
    return folder


def _join(parts: list[dict[str, Any]], names: dict[str, str]) -> dict[str, Any]:
    columns: dict[str, Any] = {name: [value for part in parts for value in part[name]] for name in parts[0]}
    return columns | {name: [value] * len(columns["seed"]) for name, value in names.items()}


def _seed_rows(
    workload: str, seed: int, requests_per_s: float, slow: float
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    random = np.random.Generator(np.random.PCG64([seed, len(workload)]))
    ends_s = np.cumsum([length for _, length in PHASES])
    n = int(ends_s[-1] * requests_per_s)
    arrival_ns = np.sort(random.integers(0, int(ends_s[-1]) * 10**9, n))
    phase = [PHASES[i][0] for i in np.searchsorted(ends_s * 10**9, arrival_ns, side="right")]
    load = np.where(np.array(phase) == "spike", slow, 0.5)
    wait_ns = (random.exponential(load) * 1e9).astype(np.int64)
    prompt_tokens = random.integers(100, 9000, n)
    hit_tokens = prompt_tokens * random.integers(0, 10, n) // 10
    requests = {
        "seed": [seed] * n,
        "request": list(range(n)),
        "kind": ["hit" if hit else "miss" for hit in hit_tokens],
        "phase": phase,
        "arrival_ns": arrival_ns.tolist(),
        "start_ns": (arrival_ns + wait_ns).tolist(),
        "first_token_ns": (arrival_ns + wait_ns + prompt_tokens * 100_000).tolist(),
        "prompt_tokens": prompt_tokens.tolist(),
        "hit_tokens": hit_tokens.tolist(),
        "preemptions": [0] * n,
        "outcome": ["served"] * n,
    }
    return requests, _hooks(seed, random, int(ends_s[-1])), _run(seed, n, requests)


def _hooks(seed: int, random: np.random.Generator, end_s: int) -> dict[str, Any]:
    steps = 300
    waiting = random.integers(1, 40, steps)
    smallest = random.integers(1, 100, steps)
    return {
        "seed": [seed] * steps,
        "step": list(range(steps)),
        "now_ns": [int(end_s * 10**9 * step / steps) for step in range(steps)],
        "waiting": waiting.tolist(),
        "uncached_min": smallest.tolist(),
        "uncached_p5": (smallest + 10).tolist(),
        "uncached_p50": (smallest + 500).tolist(),
        "uncached_p95": (smallest + 5000).tolist(),
        "uncached_max": (smallest + 9000).tolist(),
        "arrival_correlation": [None if w < 2 else float(w) / 50 for w in waiting],
        "lpm_correlation": [None if w < 2 else 1 - float(w) / 50 for w in waiting],
    }


def _run(seed: int, n: int, requests: dict[str, Any]) -> dict[str, Any]:
    return {
        "seed": [seed],
        "cache_blocks": [3000],
        "block_tokens": [16],
        "requests": [n],
        "refused": [0],
        "steps": [300],
        "busy_ns": [200 * 10**9],
        "end_ns": [400 * 10**9],
        "evicted_blocks": [1000 * seed],
        "prompt_tokens": [sum(requests["prompt_tokens"])],
        "hit_tokens": [sum(requests["hit_tokens"])],
        "computed_tokens": [sum(requests["prompt_tokens"]) - sum(requests["hit_tokens"])],
        "extrapolated_tokens": [0],
        "preemptions": [0],
        "evidence": ["simulated"],
        "profile": ["a6000"],
        "profile_evidence": ["modelled"],
        "corpus": ["embedded"],
        "trace_sha256": ["0" * 64],
        "seed_replacements": [0],
        **{name: [None] for name in ("window", "left_out_requests", "left_out_tokens", "of_requests", "of_tokens")},
        "left_out": [""],
        "reuse": ["known"],
    }


@pytest.fixture
def write() -> Callable[..., Path]:
    """The writer of made-up results."""
    return write_result


@pytest.fixture(scope="session")
def untouched_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two workloads under four policies, five seeds each; not to be changed."""
    root = tmp_path_factory.mktemp("rows")
    for workload in ("sec-dynamic-a", "sec-flood"):
        for policy in SPEED:
            write_result(root, workload, policy)
    return root


@pytest.fixture
def rows_root(untouched_rows: Path, tmp_path: Path) -> Path:
    """A copy of the made-up rows that a test may change."""
    return Path(shutil.copytree(untouched_rows, tmp_path / "rows"))

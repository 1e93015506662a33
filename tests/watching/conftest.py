"""A small spike with shared prefixes, recorded under three policies."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairway.engine import Limits
from fairway.policies import make_policy
from fairway.profile import load_profile
from fairway.progress import Progress
from fairway.replay import Replay, replay
from fairway.traces import Trace, write_trace
from fairway.watching.recording import record, write_recording
from fairway.watching.scenes import scene_of

POLICIES = ["fcfs", "lpm", "fairway"]
PROFILE = load_profile("a6000-llama-3.1-8b-modelled")
SIZES = {"budget_tokens": 2048, "max_num_seqs": 256, "block_tokens": 16}
CACHE_BLOCKS = 1500
SPIKE_BEGINS_NS = 20_000_000_000


def spike_trace() -> Trace:
    """Return 20 requests in 20 s, then 60 in 10 s; each has one of eight prefixes and a question of its own."""
    draws = np.random.Generator(np.random.PCG64(7))
    arrival_us = np.sort(
        np.concatenate([draws.integers(0, 20_000_000, 20), draws.integers(20_000_000, 30_000_000, 60)])
    )
    shares = draws.integers(0, 9, len(arrival_us))  # the ninth shares nothing
    prefixes = [list(range(1000 * share, 1000 * share + 60 + 40 * share)) for share in range(8)]
    runs = [
        [*(prefixes[share] if share < 8 else []), *range(20_000 + 200 * number, 20_000 + 200 * number + own)]
        for number, (share, own) in enumerate(zip(shares, draws.integers(1, 120, len(shares)), strict=True))
    ]
    in_spike = arrival_us * 1000 >= SPIKE_BEGINS_NS
    return Trace(
        arrival_ns=arrival_us * 1000,
        prompt_tokens=np.array([16 * len(run) for run in runs], dtype=np.int64),
        output_tokens=np.ones(len(runs), dtype=np.int64),
        block_ids=np.array([block for run in runs for block in run], dtype=np.int64),
        block_offsets=np.cumsum([0, *map(len, runs)], dtype=np.int64),
        block_tokens=16,
        kind=("",) * len(runs),
        phase=tuple("spike" if late else "warm-up" for late in in_spike),
        header={
            "workload": "small",
            "seed": 7,
            "corpus_kind": "made up",
            "parameters": {
                "cache_blocks": CACHE_BLOCKS,
                "phases": [
                    {"name": "warm-up", "start_ns": 0, "end_ns": SPIKE_BEGINS_NS},
                    {"name": "spike", "start_ns": SPIKE_BEGINS_NS, "end_ns": 30_000_000_000},
                ],
            },
        },
    )


@pytest.fixture(scope="session")
def trace() -> Trace:
    return spike_trace()


@pytest.fixture(scope="session")
def trace_file(trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("trace") / "7.jsonl"
    write_trace(trace, file)
    return file


@pytest.fixture(scope="session")
def example() -> dict[str, Any]:
    scene = scene_of(None, "", PROFILE, **SIZES)
    return record(scene, POLICIES, Progress("example"))


@pytest.fixture(scope="session")
def spike(trace_file: Path) -> dict[str, Any]:
    scene = scene_of(trace_file, "spike", PROFILE, **SIZES)
    return record(scene, POLICIES, Progress("spike"))


@pytest.fixture(scope="session")
def replays(trace: Trace) -> dict[str, Replay]:
    """Replay the spike through the door that the workflow uses, which takes the compiled core."""
    limits = Limits(CACHE_BLOCKS, **SIZES)
    return {name: replay(trace, make_policy(name), PROFILE, limits, record_hooks=True) for name in POLICIES}


@pytest.fixture(scope="session")
def recordings(example: dict[str, Any], spike: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("recordings")
    files = [folder / "example.json", folder / "spike.json"]
    for file, document in zip(files, (example, spike), strict=True):
        write_recording(file, document)
    return files

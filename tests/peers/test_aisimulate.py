"""NVIDIA's simulator reads our traces unchanged, and its FCFS finds the same hits: `make peer-env` installs it."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fairway.engine import Limits
from fairway.policies import make_policy
from fairway.profile import load_profile
from fairway.replay import replay
from fairway.traces import Trace, write_trace
from fairway.traces.corpus import make_corpus
from fairway.traces.phased import Sequences
from fairway.traces.workload import PhasedWorkload, load_workload

LIMITS = Limits(cache_blocks=3_000)  # small enough that blocks are evicted
APART = 100  # arrivals so many times as far apart: one request at a time, so step times cannot matter


@pytest.fixture(scope="module")
def program(root: Path) -> Path:
    file = Path(os.environ.get("FAIRWAY_AISIMULATE", root / ".venv-aisimulate/bin/aisimulate"))
    if not file.is_file():
        give_up = pytest.fail if os.environ.get("FAIRWAY_REQUIRE_PEER") else pytest.skip
        give_up("aisimulate is not installed (make peer-env, or name its program in FAIRWAY_AISIMULATE)")
    return file


@pytest.fixture(scope="module")
def trace(root: Path) -> Trace:
    workload = load_workload(root / "config/workloads/sec-short-0.9.yaml")
    assert isinstance(workload, PhasedWorkload)
    dense = Sequences(workload, make_corpus(1), 1).in_phases(1.0, None)
    return dataclasses.replace(dense, arrival_ns=dense.arrival_ns * APART)


def configuration(path: Path) -> dict[str, Any]:
    worker = {
        "scheduler": {"max_batched_tokens": LIMITS.budget_tokens, "max_sequences": LIMITS.max_num_seqs},
        "kv_cache": {
            "block_size": LIMITS.block_tokens,
            "prefix_caching": True,
            "bytes_per_token": 131_072,  # given, so that no model is looked up
            # Those that it can use; vLLM's pool, and so ours, has one more that holds nothing.
            "capacity": {"type": "fixed", "blocks": LIMITS.cache_blocks - 1},
        },
        "timing": {"type": "polynomial"},
    }
    source = {"type": "trace", "paths": [str(path)], "format": "mooncake", "block_size": LIMITS.block_tokens}
    engine = {"mode": "aggregated", "model": "meta-llama/Meta-Llama-3.1-8B-Instruct", "hardware": "h200_sxm"}
    return {
        "traffic": {"source": source, "load": {"type": "trace_timestamps"}},
        "engine": {**engine, "backend": "vllm", "context_length": 131_072, "workers": {"aggregated": worker}},
    }


def test_aisimulate_finds_the_same_hits_under_fcfs(program: Path, trace: Trace, tmp_path: Path) -> None:
    path, config, out = tmp_path / "1.jsonl", tmp_path / "config.json", tmp_path / "out"
    write_trace(trace, path)
    config.write_text(json.dumps(configuration(path)), encoding="utf-8")
    command = [program, "predict", "--config", config, "--output-dir", out, "--format", "json", "--capture-per-request"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (out / "requests.jsonl").read_text(encoding="utf-8").splitlines()]
    rows.sort(key=lambda row: row["arrival_time_ms"])
    ours = replay(trace, make_policy("fcfs"), load_profile("a6000-llama-3.1-8b-modelled"), LIMITS)
    assert [row["input_length"] for row in rows] == trace.prompt_tokens.tolist()
    assert ours.evicted_blocks > 0 and not ours.refused.any()
    assert [row["first_admission_reused_input_tokens"] for row in rows] == ours.hit_tokens.tolist()


@pytest.mark.parametrize(("required", "status", "said"), [("", 0, "1 skipped"), ("1", 1, "1 error")])
def test_it_is_skipped_only_where_it_may_be(root: Path, required: str, status: int, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/peers", "-k", "same_hits"],
        cwd=root,
        env=os.environ | {"FAIRWAY_AISIMULATE": "/nowhere/aisimulate", "FAIRWAY_REQUIRE_PEER": required},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == status, done.stdout
    assert said in done.stdout and "make peer-env" in done.stdout

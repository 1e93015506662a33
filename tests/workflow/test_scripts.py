"""Every script can be run by hand; an outside package's policy goes through the workflow's own script."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.workflow.conftest import of_run_lock

from fairway.command import SET_UP_BY

Process = subprocess.CompletedProcess[str]
Script = Callable[..., Process]

SCRIPTS = sorted(path.name for path in (Path(__file__).resolve().parents[2] / "scripts").glob("*.py"))
POLICY = '''
from fairway.policies import Policy


class Newest(Policy):
    """The last request to arrive goes first."""

    def order(self, view):
        yield from range(len(view) - 1, -1, -1)


class Endless(Policy):
    def order(self, view):
        while True:
            pass
'''
ENTRY_POINTS = """\
[fairway.policies]
newest-first = outside_package:Newest
endless = outside_package:Endless
broken = outside_package:Missing
"""
TRACE = """\
{"timestamp": 0, "input_length": 4000, "output_length": 1, "hash_ids": [1, 2, 3, 4, 5, 6, 7, 8]}
{"timestamp": 1, "input_length": 4000, "output_length": 1, "hash_ids": [11, 12, 13, 14, 15, 16, 17, 18]}
{"timestamp": 2, "input_length": 4000, "output_length": 1, "hash_ids": [21, 22, 23, 24, 25, 26, 27, 28]}
"""


@pytest.mark.parametrize("name", SCRIPTS)
def test_help(name: str, tmp_path: Path, script: Script, run_lock_alone: Path) -> None:
    told = script(tmp_path, name, "--help", more_paths=[run_lock_alone])
    assert told.returncode == 0, told.stdout
    assert told.stdout.startswith(f"usage: {name}")
    description = told.stdout.split("\n\n")[1]
    assert len(description.split()) >= 5
    assert list(tmp_path.iterdir()) == []


FILING = ["--accession", "0000320193-24-000081", "--sources", "{root}/config/sources.yaml", "--downloads", "d"]
CORPUS = ["--corpus", "sec", "--kind", "real", "--sources", "{root}/config/sources.yaml", "--downloads", "d"]
MEASURE = ["--policies", "fcfs", "--traces", "t.jsonl", "--profile", "p", "--device", "cpu", "--model", "tiny-llama"]
LACKING = {
    "fetch_filing.py": ([*FILING, "--out", "o"], "lxml", "make real-env"),
    "build_corpus.py": ([*CORPUS, "--seed", "1", "--filings", "f", "--out", "o"], "lxml", "make real-env"),
    "measure.py": (
        [*MEASURE, "--rows", "r", "--under-way", "u", "--logs", "l", "--out", "o"],
        "aiohttp",
        "make vllm-env, and run it with .venv-vllm/bin/python",
    ),
}


@pytest.mark.parametrize("name", LACKING)
def test_a_package_of_another_environment_is_named(
    name: str, tmp_path: Path, root: Path, script: Script, run_lock_alone: Path
) -> None:
    options, package, remedy = LACKING[name]
    told = script(tmp_path, name, *[option.format(root=root) for option in options], more_paths=[run_lock_alone])
    assert told.stdout == f"error: the package {package} is not installed. Remedy: {remedy}.\n"
    assert told.returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_every_package_that_is_imported_has_an_environment(root: Path) -> None:
    files = [*(root / "src").rglob("*.py"), *(root / "scripts").glob("*.py")]
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    modules = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    modules |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    packages = {module.partition(".")[0] for module in modules} - {"fairway", *sys.stdlib_module_names}
    assert packages - of_run_lock(root) <= SET_UP_BY.keys()
    assert not SET_UP_BY.keys() & of_run_lock(root)


@pytest.fixture
def outside_package(tmp_path: Path) -> Path:
    """Lay out what an installed package leaves in site-packages."""
    site = tmp_path / "site-packages"
    information = site / "outside_package-1.0.dist-info"
    information.mkdir(parents=True)
    (site / "outside_package.py").write_text(POLICY, encoding="utf-8")
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: outside-package\nVersion: 1.0\n", encoding="utf-8"
    )
    (information / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    return site


def replay(script: Script, folder: Path, policy: str, site: Path, *more: str) -> Process:
    (folder / "trace.jsonl").write_text(TRACE, encoding="utf-8")
    options = ["--policy", policy, "--traces", "trace.jsonl", "--profile", "a6000-llama-3.1-8b-modelled"]
    sizes = ["--cache-blocks", "2000", "--budget-tokens", "2048", "--max-num-seqs", "256", "--block-tokens", "16"]
    return script(folder, "replay.py", *options, *sizes, "--out-dir", "rows", *more, more_paths=[site])


def test_a_policy_of_an_outside_package_is_replayed(tmp_path: Path, script: Script, outside_package: Path) -> None:
    done = replay(script, tmp_path, "newest-first", outside_package)
    assert done.returncode == 0, done.stdout
    rows = pq.read_table(tmp_path / "rows/requests.parquet").to_pydict()
    assert set(rows["policy"]) == {"newest-first"}
    served = sorted(rows["request"], key=lambda request: rows["first_token_ns"][rows["request"].index(request)])
    assert served == [0, 2, 1]  # the first is alone when it starts; then the newest goes first


def test_an_outside_policy_that_cannot_be_loaded_is_named(
    tmp_path: Path, script: Script, outside_package: Path
) -> None:
    refused = replay(script, tmp_path, "broken", outside_package)
    assert refused.returncode == 2
    assert "policy 'broken' cannot be loaded" in refused.stdout
    assert not (tmp_path / "rows").exists()


def test_an_outside_policy_that_never_answers_is_stopped(tmp_path: Path, script: Script, outside_package: Path) -> None:
    stopped = replay(script, tmp_path, "endless", outside_package, "--answer-limit-s", "1")
    assert stopped.returncode == 2
    told = r"^error: \S*outside_package\.py:1\d: policy 'endless' computed for 1 s without an answer while ordering\."
    assert re.search(told, stopped.stdout, flags=re.MULTILINE)
    assert not (tmp_path / "rows").exists()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (["fast_weight"], "--set 'fast_weight' is no KEY=VALUE"),
        (["=4"], "--set '=4' is no KEY=VALUE"),
        (["a b=4"], "--set 'a b=4' is no KEY=VALUE"),
        (["fast_weight=["], "--set 'fast_weight=[': no valid value"),
        (["fast_weight=2026-13-45"], "no valid value"),
        (["fast_weight=2", "fast_weight=3"], "--set 'fast_weight=3': key 'fast_weight' stands twice"),
        (["fast_weight=yes"], "fast_weight must be a positive number, not True"),
        (["weight=2"], "policy 'fairway' refuses its parameters: it has no parameter 'weight'. Remedy: did you mean"),
    ],
)
def test_a_parameter_that_is_none_is_one_line(
    tmp_path: Path, script: Script, settings: list[str], problem: str
) -> None:
    refused = replay(script, tmp_path, "fairway", tmp_path, *(text for value in settings for text in ("--set", value)))
    assert (refused.returncode, len(refused.stdout.splitlines())) == (2, 1)
    assert problem in refused.stdout


def test_rows_of_other_parameters_say_so(tmp_path: Path, script: Script) -> None:
    done = replay(script, tmp_path, "fairway", tmp_path, "--set", "fast_weight=8", "--eviction", "pgdsf")
    assert done.returncode == 0, done.stdout
    assert set(pq.read_table(tmp_path / "rows/runs.parquet")["policy"].to_pylist()) == {"fairway+fast_weight=8+pgdsf"}


def test_the_workflow_accepts_an_outside_policy(
    tmp_path: Path, snakemake: Callable[..., Process], outside_package: Path
) -> None:
    (tmp_path / "run").mkdir()
    options = ["--cores", "1", "--dry-run", "--quiet", "--config", "policies=[newest-first]"]
    planned = snakemake(tmp_path / "run", *options, PYTHONPATH=str(outside_package))
    assert planned.returncode == 0, planned.stdout

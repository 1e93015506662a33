"""The workflow of measurements, with a stand-in for vLLM: nothing is measured twice, an edited row is told, a lost one
comes again.
"""

import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.workflow.conftest import Process, execute

from fairway.files import write_sealed_with_copy

pytestmark = pytest.mark.xdist_group("measured")

Run = Callable[..., Process]
DAY = """\
device: cpu
model: tiny-llama
profile: {name: stand-in, cache_blocks: 6000, most_context: 4096, repeats: 1, seed: 1, seconds: 300}
engine: {budget_tokens: 2048, max_num_seqs: 256, block_tokens: 32}
corpus_seed: 1
seeds: {first: 1, count: 1}
repeats: 2
start_s: 35
drain_s: 11
stages:
  - {name: first, workloads: [config/measured/workloads/cpu-flood.yaml], policies: [fcfs, lpm]}
stand_ins:
  - {stands_for: sec-flood, workload: cpu-flood}
"""
RUNS = [f"{repeat}/cpu-flood/{policy}" for repeat in (1, 2) for policy in ("fcfs", "lpm")]
RESULTS = Path("results/measured/stand-in")


@pytest.fixture(scope="module")
def run(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run the workflow in a folder."""
    python = tmp_path_factory.mktemp("python") / "python"
    stand_in = [sys.executable, str(Path(__file__).with_name("vllm_stand_in.py"))]
    python.write_text(f'#!/bin/sh\nexec {shlex.join(stand_in)} "$@"\n', encoding="utf-8")
    python.chmod(0o755)

    def call(folder: Path, *options: str) -> Process:
        where = ["--snakefile", root / "workflow/measured.smk", "--directory", folder, "--cores", "1"]
        command = ["-m", "snakemake", *where, "--quiet", "host", *options, "--config", f"day={folder / 'day.yaml'}"]
        return execute(command, folder, FAIRWAY_VLLM_PYTHON=str(python))

    return call


def measured(folder: Path) -> list[str]:
    """Return what was measured, in order."""
    lines = (folder / "measured.log").read_text(encoding="utf-8").splitlines()
    return [line.rpartition("/rows/under-way/")[2] for line in lines]


@pytest.fixture(scope="module")
def stopped_and_finished(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("measured")
    (folder / "day.yaml").write_text(DAY, encoding="utf-8")
    (folder / "results").mkdir()
    write_sealed_with_copy(folder / "results/exact.json", {})
    (folder / "broken").touch()
    stopped = run(folder)
    assert stopped.returncode == 1, stopped.stdout
    assert "error: the server is broken. Remedy: mend it" in stopped.stdout
    assert measured(folder) == RUNS[:1]
    (folder / "broken").unlink()
    done = run(folder)
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture
def finished(stopped_and_finished: Path) -> Iterator[Path]:
    """Return a copy of the finished measurements, beside them, to change."""
    folder = stopped_and_finished.with_name("again")
    shutil.copytree(stopped_and_finished, folder)
    yield folder
    shutil.rmtree(folder)


def rules(process: Process) -> set[str]:
    assert process.returncode == 0, process.stdout
    return set(re.findall(r"^(?:local)?rule (\w+):$", process.stdout, flags=re.MULTILINE))


def test_a_stopped_day_goes_on_behind_what_is_measured(stopped_and_finished: Path, run: Run) -> None:
    assert measured(stopped_and_finished) == RUNS
    assert not list((stopped_and_finished / RESULTS / "rows/under-way").rglob("*.parquet"))
    assert rules(run(stopped_and_finished, "--dry-run")) == {"all"}


def test_a_deleted_row_is_measured_again_and_no_other(finished: Path, run: Run) -> None:
    lost = finished / RESULTS / "rows/vllm" / RUNS[3] / "requests.parquet"
    lost.unlink()
    done = run(finished)
    assert done.returncode == 0, done.stdout
    assert measured(finished) == [*RUNS, RUNS[3]]
    assert lost.is_file()
    assert rules(run(finished, "--dry-run")) == {"all"}


def test_edited_rows_are_told_by_name_with_status_1_until_they_are_deleted(finished: Path, run: Run) -> None:
    tables, edited = finished / RESULTS / "tables", [RUNS[0], RUNS[3]]
    files = [finished / RESULTS / "rows/vllm" / name / "requests.parquet" for name in edited]
    for file in files:
        table = pq.read_table(file)
        place = table.schema.get_field_index("first_token_ns")
        later = pc.add(table["first_token_ns"], 10**9)
        pq.write_table(table.set_column(place, table.schema.field(place), later), file)
    told = run(finished)
    assert told.returncode == 1, told.stdout
    assert measured(finished) == RUNS
    for name in edited:
        named = f"requests.parquet of {RESULTS}/rows/vllm/{name}"
        assert f"EDITED after it was written: {named}. Delete it and run the workflow" in told.stdout
    assert set(re.findall(r"\| (\w+) \(edited\) \|", (tables / "first.md").read_text("utf-8"))) == {"fcfs", "lpm"}
    figure = (finished / RESULTS / "figures/runs.svg").read_text("utf-8")
    assert "EDITED after it was written: cpu-flood/fcfs, cpu-flood/lpm" in figure
    claims = (tables / "claims.md").read_text("utf-8")
    assert "EDITED after it was written: requests.parquet of cpu-flood/fcfs" in claims
    assert "cpu-flood/lpm" not in claims, "claims are asked of the first repeat"
    for file in files:
        file.unlink()
    done = run(finished)
    assert done.returncode == 0, done.stdout
    assert measured(finished) == [*RUNS, *edited]
    assert "edited" not in (tables / "first.md").read_text("utf-8").lower()

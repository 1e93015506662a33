"""Jobs that a submit command starts, as on a cluster: the same bytes. The Slurm profile is read by Slurm's plugin."""

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.workflow.conftest import checksums, tiny

pytestmark = pytest.mark.xdist_group("dag")

Process = subprocess.CompletedProcess[str]
Snakemake = Callable[..., Process]

# What a cluster does: takes a job, answers with its number at once, runs it later, away from the submitting process.
SUBMIT = """\
#!/bin/sh
set -eu
cd "$(dirname "$0")"
echo "$1" >> submitted
wc -l < submitted
nohup sh "$1" >> jobs.log 2>&1 < /dev/null &
"""
ROWS = "results/rows/sim/sec-flood/fcfs/requests.parquet"
WAY_TO_ROWS = ["build_corpus", "build_traces_2_seeds_from_1", "check_profile", "replay_sec_flood"]


@pytest.fixture
def submit(tmp_path: Path) -> Callable[..., tuple[Path, Process]]:
    """Run targets of the smallest configuration through a submit command; the folder's name has a blank and a quote."""

    def run(snakemake: Snakemake, root: Path, *targets: str) -> tuple[Path, Process]:
        command = tmp_path / "submit.sh"
        command.write_text(SUBMIT, encoding="utf-8")
        folder = tmp_path / "a run's folder"
        folder.mkdir()
        executor = ["--executor", "cluster-generic", "--jobs", "2"]
        how = ["--cluster-generic-submit-cmd", f"sh {shlex.quote(str(command))}"]
        return folder, snakemake(folder, *executor, *how, *tiny(root), "--", *targets)

    return run


def test_rows_come_from_submitted_jobs_with_the_same_bytes(
    submit: Callable[..., tuple[Path, Process]], plain: Path, root: Path, snakemake: Snakemake
) -> None:
    folder, done = submit(snakemake, root, ROWS)
    assert done.returncode == 0, done.stdout + (folder.parent / "jobs.log").read_text(encoding="utf-8")
    jobs = (folder.parent / "submitted").read_text(encoding="utf-8").splitlines()
    assert sorted(Path(job).name.split(".")[1] for job in jobs) == WAY_TO_ROWS
    made, expected = checksums(folder), checksums(plain)
    assert ROWS in made
    assert made == {file: expected[file] for file in made}


@pytest.mark.slow
def test_everything_comes_from_submitted_jobs_with_the_same_bytes(
    submit: Callable[..., tuple[Path, Process]], plain: Path, root: Path, snakemake: Snakemake
) -> None:
    folder, done = submit(snakemake, root)
    assert done.returncode == 0, done.stdout + (folder.parent / "jobs.log").read_text(encoding="utf-8")
    assert checksums(folder) == checksums(plain)


def test_slurm_s_plugin_reads_the_profile_beside_the_default_one(
    tmp_path: Path, root: Path, snakemake: Snakemake
) -> None:
    profile = str(root / "workflow/profiles/slurm")
    planned = snakemake(tmp_path, "--profile", profile, "--dry-run", *tiny(root, "--", ROWS))
    assert planned.returncode == 0, planned.stdout
    asked = re.findall(r"resources: (.*)", planned.stdout)
    assert len(asked) == len(WAY_TO_ROWS)
    assert all("mem_mb=4000" in job and "runtime=120" in job for job in asked)
    assert re.search(r"^Using profiles \S+/slurm and workflow specific profile \S+/default", planned.stdout, flags=re.M)

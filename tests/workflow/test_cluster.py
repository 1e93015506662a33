"""Jobs that run as on a cluster: the same bytes, through a submit command and through Slurm's plugin.

No Slurm is needed: the plugin is the real one, and its commands are stand-ins (tests/slurm). So this proves the profile
and the plugin's calls against them; whether a real cluster takes both it does not.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.slurm.cluster import submitted, write_commands
from tests.workflow.conftest import checksums, not_made, run, tiny

pytestmark = pytest.mark.xdist_group("cluster")

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


PLUGIN = "snakemake-executor-plugin-slurm"
CHECKED = "results/profile/a6000-llama-3.1-8b-modelled.json"  # takes one job
COMMAND = "snakemake --configfile config/full.yaml --profile workflow/profiles/slurm"
# The plugin's own 40 seconds between two looks at the queue are long for jobs that take some.
SOON = ["--slurm-init-seconds-before-status-checks", "1"]


@pytest.fixture
def slurm(tmp_path: Path) -> Path:
    """Return the folder of a stand-in for Slurm, whose commands are in `bin`."""
    write_commands(tmp_path / "slurm", sys.executable)
    return tmp_path / "slurm"


@pytest.fixture
def profile(tmp_path: Path, root: Path) -> Path:
    """Return a profile whose owner has filled in account and partition."""
    folder = tmp_path / "profile"
    shutil.copytree(root / "workflow/profiles/slurm", folder)
    text = (folder / "config.yaml").read_text(encoding="utf-8")
    for line, filled in {
        "# slurm_account: your_account": "slurm_account: research",
        "# slurm_partition: your_partition": "slurm_partition: long",
    }.items():
        assert line in text
        text = text.replace(line, filled)
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    return folder


def with_commands(slurm: Path) -> str:
    return f"{slurm / 'bin'}{os.pathsep}{os.environ['PATH']}"


def through_slurm(
    slurm: Path, profile: Path, root: Path, snakemake: Snakemake, *options: str, target: str = ROWS
) -> tuple[Path, Process]:
    folder = slurm.parent / "a run's folder"
    folder.mkdir()
    how = ["--profile", str(profile), *SOON, *options, "--configfile", str(root / "config/tiny.yaml")]
    return folder, snakemake(folder, *how, "--", target, PATH=with_commands(slurm))


def said_by(done: Process, folder: Path) -> str:
    """Return what a run and its jobs have said; the plugin keeps the logs of those that failed."""
    logs = sorted((folder / ".snakemake/slurm_logs").rglob("*.log"))
    return "\n".join([done.stdout, *(log.read_text(encoding="utf-8") for log in logs)])


def asked_for(slurm: Path) -> set[tuple[int, int, str | None, str]]:
    return {(job["memory_mb"], job["minutes"], job["account"], job["partition"]) for job in submitted(slurm)}


def test_slurm_s_plugin_is_what_pip_installs(tmp_path: Path, root: Path) -> None:
    asked = run([sys.executable, "-m", "pip", "install", PLUGIN], tmp_path, PIP_NO_INDEX="1")
    assert asked.returncode == 0, asked.stdout
    satisfied = re.findall(rf"^Requirement already satisfied: {PLUGIN} in .* \((\S+)\)$", asked.stdout, re.MULTILINE)
    lock = (root / "requirements/dev.lock").read_text(encoding="utf-8")
    assert satisfied == re.findall(rf"^{PLUGIN}==(\S+)", lock, re.MULTILINE) != []


def test_the_command_for_slurm_is_planned_as_it_stands(slurm: Path, unzipped: Path) -> None:
    line = [sys.executable, "-m", *shlex.split(COMMAND), "--dry-run", "--quiet", "host"]
    planned = run(line, unzipped, PATH=with_commands(slurm))
    assert planned.returncode == 0, planned.stdout
    assert re.search(
        r"^Using profiles \S+/slurm and workflow specific profile \S+/default", planned.stdout, re.MULTILINE
    )
    resources = re.findall(r"resources: (.*)", planned.stdout)
    assert len(resources) > 100
    assert all("mem_mb=4000" in job and "runtime=120" in job for job in resources)
    assert submitted(slurm) == []


def test_rows_come_from_slurm_with_the_same_bytes(
    slurm: Path, profile: Path, plain: Path, root: Path, snakemake: Snakemake
) -> None:
    folder, done = through_slurm(slurm, profile, root, snakemake)
    assert done.returncode == 0, said_by(done, folder)
    rules = [re.fullmatch(r"rule_(.*?)(?:_wildcards_.*)?", job["comment"])[1] for job in submitted(slurm)]
    assert sorted(rules) == WAY_TO_ROWS
    assert asked_for(slurm) == {(4000, 120, "research", "long")}
    made, expected = checksums(folder), checksums(plain)
    assert ROWS in made
    assert made == {file: expected[file] for file in made}


@pytest.mark.slow
def test_everything_comes_from_slurm_with_the_same_bytes(
    slurm: Path, unzipped: Path, plain: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "a user's checkout"
    shutil.copytree(unzipped, folder, symlinks=True, ignore=not_made)
    line = shlex.split(COMMAND.replace("full.yaml", "tiny.yaml"))
    done = run([sys.executable, "-m", *line, *SOON], folder, PATH=with_commands(slurm))
    assert done.returncode == 0, said_by(done, folder)
    assert asked_for(slurm) == {(4000, 120, None, "main")}
    assert checksums(folder) == checksums(plain)


def test_a_job_that_no_node_can_hold_ends_the_run_and_says_why(
    slurm: Path, profile: Path, root: Path, snakemake: Snakemake
) -> None:
    too_much = ["--default-resources", "mem_mb=64000", "runtime=120"]
    folder, refused = through_slurm(slurm, profile, root, snakemake, *too_much, target=CHECKED)
    assert refused.returncode == 1
    why = r"SLURM sbatch failed\. The error message was 'sbatch: .*Requested node configuration is not available'"
    assert re.search(rf"^FAILED: check_profile \S+ \({why}\)", refused.stdout, re.MULTILINE), refused.stdout
    assert not checksums(folder)


def test_a_job_that_fails_on_its_node_ends_the_run_and_says_where_its_log_is(
    slurm: Path, profile: Path, root: Path, snakemake: Snakemake
) -> None:
    (slurm / "bin/srun").write_text("#!/bin/sh\necho this node is broken\nexit 3\n", encoding="utf-8")
    folder, failed = through_slurm(slurm, profile, root, snakemake, target=CHECKED)
    assert failed.returncode == 1
    why = r"SLURM-job '1' failed, SLURM status is: 'FAILED'\. Reason: Step 0: None"
    (log,) = re.findall(rf"^FAILED: check_profile \S+ \({why}\); .*, (/.*/1\.log)$", failed.stdout, re.MULTILINE)
    assert "this node is broken" in Path(log).read_text(encoding="utf-8")
    assert not checksums(folder)


def sbatch(folder: Path, wrap: str) -> str:
    """Return a call of `sbatch` as the plugin makes it."""
    run_s = f"--job-name a-run --output {shlex.quote(str(folder))}/%j.log --export=ALL --comment rule_one"
    asks_for = "-p main -t 120 --mem 4000 --ntasks=1 --cpus-per-task=1"
    return f'sbatch --parsable {run_s} {asks_for} -D {shlex.quote(str(folder))} --wrap="{wrap}"'


def on_cluster(slurm: Path, folder: Path, line: str) -> Process:
    return run(["sh", "-c", line], folder, PATH=with_commands(slurm))


STATES = "sacct -X --parsable2 --clusters all --noheader --format=JobIdRaw,State --starttime 2026-01-01T00:00"


def test_a_cancelled_job_of_the_stand_in_runs_no_more(slurm: Path, tmp_path: Path) -> None:
    taken = on_cluster(slurm, tmp_path, sbatch(tmp_path, "touch began; sleep 1; touch ended"))
    assert taken.stdout == "1\n"
    while not (tmp_path / "began").exists():
        time.sleep(0.05)
    cancelled = on_cluster(slurm, tmp_path, f"scancel 1; {STATES} --endtime now --name a-run")
    assert cancelled.stdout == "1|CANCELLED\n"
    time.sleep(1.5)
    assert not (tmp_path / "ended").exists()


@pytest.mark.parametrize(
    "call",
    [
        "sbatch job.sh",
        sbatch(Path("/tmp"), "true").replace("--mem 4000 ", ""),
        sbatch(Path("/tmp"), "true").replace("-t 120 ", ""),
        sbatch(Path("/tmp"), "true").replace("main", "gpu"),
        "srun -n1 --cpu-bind=q --cpus-per-task=1 --nodes=1 true",
        "sacct",
        "scancel --user me",
        "scontrol show nodes",
        "sinfo",
        "sacctmgr list account",
    ],
)
def test_the_stand_in_has_no_other_call(call: str, slurm: Path, tmp_path: Path) -> None:
    refused = on_cluster(slurm, tmp_path, call)
    assert refused.returncode in {1, 2}
    assert "error: " in refused.stdout
    assert submitted(slurm) == []

"""The whole workflow at its smallest: the same bytes anywhere, nothing done twice, nothing missed."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.workflow.conftest import SAY_ALL, checksums, shell, tiny

from fairway.analysis.summary import PAGES_OF_A_RUN
from fairway.errors import EXIT_BAD_INPUT
from fairway.files import SEAL

pytestmark = pytest.mark.xdist_group("dag")  # the tests of a file share runs, which one process makes

Process = subprocess.CompletedProcess[str]
Snakemake = Callable[..., Process]

JOBS = 31
JOBS_BEFORE_KILL = 9
ROWS = Path("results/rows/sim")


@dataclass(frozen=True)
class Killed:
    """A run that was killed and then taken up again."""

    folder: Path
    before_ns: dict[str, int]  # when the files of the jobs that had finished by the kill were written
    after_ns: dict[str, int]
    resumed: Process


def line_with(text: str, file: Path) -> str:
    (line,) = [line for line in file.read_text(encoding="utf-8").splitlines() if text in line]
    return line


def jobs(process: Process) -> Counter[str]:
    assert process.returncode == 0, process.stdout
    return Counter(re.findall(r"^(?:local)?rule (\w+):$", process.stdout, flags=re.MULTILINE))


def written_ns(folder: Path, files: list[str]) -> dict[str, int]:
    return {file: (folder / file).stat().st_mtime_ns for file in files}


@pytest.fixture
def again(shelf: Path, plain: Path) -> Iterator[Path]:
    """Give a copy of the plain run, beside it, to change."""
    folder = shelf / "again"
    shutil.copytree(plain, folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def killed(unzipped: Path) -> Killed:
    folder = unzipped
    environment = os.environ | {"PYTHONHASHSEED": "4242", "TZ": "Asia/Kathmandu", "LC_ALL": "tr_TR.UTF-8"}
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *SAY_ALL, "--configfile", "config/tiny.yaml"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "encoding": "utf-8"}

    with subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **pipes) as process:
        assert process.stdout
        log = ""
        for line in process.stdout:
            log += line
            if log.count("Finished jobid") == JOBS_BEFORE_KILL:
                os.killpg(process.pid, signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL, log
    outputs = {job: files for files, job in re.findall(r"output: (.+)\n(?:.*\n)*?    jobid: (\d+)", log)}
    finished = [outputs[job] for job in re.findall(r"Finished jobid: (\d+)", log)]
    files = [file for some in finished for file in some.split(", ")]
    before_ns = written_ns(folder, files)
    resumed = subprocess.run(command, cwd=folder, env=environment, check=False, **pipes)
    assert resumed.returncode == 0, resumed.stdout
    return Killed(folder, before_ns, written_ns(folder, files), resumed)


def test_same_bytes_whatever_the_folder_cores_hash_seed_zone_and_locale(plain: Path, killed: Killed) -> None:
    expected = checksums(plain)
    assert {Path(file).suffix for file in expected} == {
        *(".json", ".jsonl", ".parquet", ".csv", ".md", ".pdf", ".svg", ".html", ".ipynb")
    }
    assert checksums(killed.folder) == expected


def test_a_killed_run_goes_on_without_doing_finished_jobs_again(killed: Killed, plain: Path) -> None:
    assert len(killed.before_ns) >= JOBS_BEFORE_KILL
    assert killed.after_ns == killed.before_ns
    assert jobs(killed.resumed).total() == JOBS - JOBS_BEFORE_KILL


def test_make_reproduce_in_a_download_without_git(killed: Killed) -> None:
    assert not (killed.folder / ".git").exists()
    made = shell(killed.folder, "make reproduce CONFIG=config/tiny.yaml CORES=2")
    assert made.returncode == 0, made.stdout
    assert "Tables: results/tables/claims.md" in made.stdout
    assert re.findall(r"^total +(\d+)$", made.stdout, flags=re.MULTILINE) == ["1"], "all but the claims' page was there"


def test_make_check_says_where_no_reference_is_kept(killed: Killed) -> None:
    refused = shell(killed.folder, "make check CONFIG=config/tiny.yaml CORES=2")
    assert refused.returncode == 2
    assert "no reference of config/tiny.yaml is kept here" in refused.stdout
    assert "Building DAG" not in refused.stdout, "before anything is run, or written over another run's tables"


def test_a_run_has_the_tables_that_are_compared_with_its_reference(plain: Path) -> None:
    made = json.loads((plain / "results/tables/summary.json").read_text(encoding="utf-8"))
    assert {"claims", "metrics", "comparison"} <= made.keys() - {SEAL} <= PAGES_OF_A_RUN.keys()


@pytest.mark.slow
def test_make_check_names_an_edited_result(killed: Killed, shelf: Path) -> None:
    folder = shelf / "checked"
    shutil.copytree(killed.folder, folder, symlinks=True)
    places = "--summary results/tables/summary.json --config config/tiny.yaml --references docs/reference"
    beside = "docs/reference"
    others = f"--second-seeds {beside}/second-seeds/reference.json --other-corpus {beside}/real-subset/reference.json"
    keep = f"PYTHONPATH=src python scripts/publish_reference.py {places} {others} --date 2026-01-01 --commit none"
    kept = shell(folder, keep)
    assert kept.returncode == 0, kept.stdout
    check = "make check CONFIG=config/tiny.yaml CORES=1"
    agreed = shell(folder, check)
    assert agreed.returncode == 0, agreed.stdout
    assert "\nagrees: all " in agreed.stdout
    file = folder / ROWS / "sec-flood/lpm/requests.parquet"
    table = pq.read_table(file)
    place = table.schema.get_field_index("first_token_ns")
    later = pc.add(table["first_token_ns"], 10**9)
    pq.write_table(table.set_column(place, table.schema.field(place), later), file)
    for _ in range(2):
        told = shell(folder, check)
        assert told.returncode == 2, "what make ends with when a command has failed"
        assert "\nEDITED after it was written: requests.parquet of sec-flood/lpm (" in told.stdout
        assert "\nmoved: metrics / rows / sec-flood lpm " in told.stdout
        assert "\nDIFFERS: " in told.stdout
        assert "Error 1" in told.stdout
    page = (folder / "results/tables/metrics.md").read_text(encoding="utf-8")
    assert "| lpm (edited) |" in page and "| fairway |" in page


def test_the_jobs_behind_a_target_of_the_appendix_are_timed(killed: Killed) -> None:
    targets = killed.folder / "targets.yaml"
    targets.write_text("targets: {some-claim: [results/exact.json], flood: [figures/flood.pdf]}\n", encoding="utf-8")
    options = "--targets targets.yaml --config config/tiny.yaml --out times.json"
    line = f"PYTHONPATH=src python scripts/time_targets.py {options}"
    timed = shell(killed.folder, line)
    assert timed.returncode == 0, timed.stdout
    times = json.loads((killed.folder / "times.json").read_text(encoding="utf-8"))["targets"]
    benchmark = (killed.folder / "benchmarks/dag/check_exact.tsv").read_text(encoding="utf-8")
    assert times["some-claim"] == round(float(benchmark.splitlines()[1].split("\t")[0]), 1)
    assert times["flood"] > times["some-claim"]
    page = (killed.folder / "results/claims/flood/claims.md").read_text(encoding="utf-8")
    whole = (killed.folder / "results/tables/claims.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| ") and "`flood`" in line]
    assert lines and set(lines) <= set(whole.splitlines()), "a claim answered alone gets the same answer"
    there, gone = killed.folder / "benchmarks/dag/plot_flood.tsv", killed.folder / "gone.tsv"
    there.rename(gone)
    refused = shell(killed.folder, line)
    gone.rename(there)
    assert refused.returncode == 2
    assert "plot_flood.tsv: this job's benchmark is not here" in refused.stdout


def test_progress_and_claims_are_seen(killed: Killed) -> None:
    line = rf"^\d+ of {JOBS - JOBS_BEFORE_KILL} jobs: .+ \(.+\); .+ so far, about .+ left$"
    assert re.search(line, killed.resumed.stdout, flags=re.MULTILINE)
    assert "results/tables/claims.json" in killed.resumed.stdout


def test_the_notebook_is_executed_without_a_word_about_other_tools(killed: Killed) -> None:
    assert re.search(r"^\d+ of \d+ jobs: .*explore", killed.resumed.stdout, flags=re.MULTILINE), killed.resumed.stdout
    assert "papermill" not in killed.resumed.stdout


def test_every_job_leaves_a_log_and_a_benchmark(plain: Path) -> None:
    assert len(list((plain / "logs").rglob("*.log"))) == JOBS - 1
    assert (plain / "logs/explore.ipynb").is_file(), "a notebook's log is the notebook as it was executed"
    assert len(list((plain / "benchmarks/dag").rglob("*.tsv"))) == JOBS - 1  # rule all only shows


def test_nothing_is_done_again(again: Path, root: Path, snakemake: Snakemake) -> None:
    half_written = again / "results/tables/.claims.json.abcd1234.part"  # as a kill leaves it
    half_written.touch()
    assert jobs(snakemake(again, "--cores", "1", *tiny(root))) == {"all": 1}
    assert not half_written.exists()


def test_an_added_policy_runs_that_policy_and_the_tables(again: Path, root: Path, snakemake: Snakemake) -> None:
    more = snakemake(again, "--cores", "1", *tiny(root, "--config", "policies=[fcfs, lpm, fairway, srpt]"))
    assert jobs(more) == {"replay_sec_dynamic_a": 1, "replay_sec_flood": 1, "plot_plane": 1, **AFTER_ROWS}
    assert set(re.findall(r"policy=(\S+)", more.stdout)) == {"srpt"}


BUILD_TRACES = "build_traces_2_seeds_from_1"
PUBLISHED = {"summarise": 1, "build_paper": 1, "render_pages": 1, "all": 1}
NOTEBOOK = {"explore": 1, "publish_notebook": 1}
AFTER_ROWS = {"tabulate_metrics": 1, "tabulate_comparison": 1, "answer_claims": 1, **PUBLISHED}
MADE_AGAIN = {
    "results/rows/sim/sec-flood/lpm/hooks.parquet": {"replay_sec_flood": 1, "plot_flood": 1, **AFTER_ROWS},
    "data/traces/sec-dynamic-a/2.jsonl": {
        BUILD_TRACES: 1,
        "replay_sec_dynamic_a": 3,
        "compute_bounds": 1,
        "plot_spike_timeline": 1,
        "plot_plane": 1,
        "plot_targets": 1,
        "plot_spread": 1,
        "plot_order_shift": 1,
        "record_spike": 1,
        "build_queue_page": 1,
        **NOTEBOOK,
        **AFTER_ROWS,
    },
    "results/calibration/sec-flood/1.json": {
        BUILD_TRACES: 1,
        "replay_sec_flood": 3,
        "compute_bounds": 1,
        "plot_flood": 1,
        "plot_spread": 1,
        **AFTER_ROWS,
    },
    "results/bounds/sec-flood.json": {"compute_bounds": 1, "tabulate_metrics": 1, **PUBLISHED},
    "results/exact.json": {"check_exact": 1, "answer_claims": 1, **PUBLISHED},
    "results/tables/claims.md": {"answer_claims": 1, **PUBLISHED},
    "figures/flood.svg": {"plot_flood": 1, "build_paper": 1, "all": 1},
    "results/paper/fairway.pdf": {"build_paper": 1, "all": 1},
    "results/report/claims.html": {"render_pages": 1, "all": 1},
    "results/notebooks/explore.html": {"publish_notebook": 1, "all": 1},
    "figures/queue.html": {"build_queue_page": 1, "all": 1},
}


@pytest.mark.parametrize("deleted", MADE_AGAIN)
def test_a_deleted_result_is_planned_again(deleted: str, again: Path, root: Path, snakemake: Snakemake) -> None:
    (again / deleted).unlink()
    assert jobs(snakemake(again, "--cores", "1", "--dry-run", *tiny(root))) == MADE_AGAIN[deleted]


def test_a_deleted_result_comes_back_the_same(again: Path, plain: Path, root: Path, snakemake: Snakemake) -> None:
    (again / "results/rows/sim/sec-flood/lpm/requests.parquet").unlink()
    assert snakemake(again, "--cores", "1", *tiny(root)).returncode == 0
    assert checksums(again) == checksums(plain)


def test_an_edited_result_flips_its_claim_and_is_told_with_status_1_until_it_is_deleted(
    again: Path, plain: Path, root: Path, snakemake: Snakemake
) -> None:
    file = again / ROWS / "sec-flood/fairway/requests.parquet"
    table = pq.read_table(file)
    place = table.schema.get_field_index("first_token_ns")
    first_token_ns = table["first_token_ns"].to_numpy().copy()
    hits = np.flatnonzero(table["kind"].to_numpy(zero_copy_only=False) == "hit")
    first_token_ns[hits] = table["arrival_ns"].to_numpy()[hits] + 10**6  # no hit waits any more,
    for seed in (1, 2):  # but for one of each seed that starves: both checks of the claim fail
        first_token_ns[hits[table["seed"].to_numpy()[hits] == seed][-1]] += 10**12
    later = pa.array(first_token_ns, type=pa.int64())
    pq.write_table(table.set_column(place, table.schema.field(place), later), file)
    claim = "(`flood-delayed-not-starved`)"
    assert "| holds (indicative) |" in line_with(claim, again / "results/tables/claims.md")
    figure = again / "figures/spike-timeline.svg"
    figure.write_text(figure.read_text(encoding="utf-8").replace("TTFT", "TTFC"), encoding="utf-8")
    for _ in range(2):
        told = snakemake(again, "--cores", "1", *tiny(root))
        assert told.returncode == 1, told.stdout
        assert "edited" in told.stdout
        assert "EDITED after it was written: figures/spike-timeline.svg" in told.stdout
        assert "| does not hold (indicative, edited) |" in line_with(claim, again / "results/tables/claims.md")
    file.unlink()
    figure.unlink()
    assert snakemake(again, "--cores", "1", *tiny(root)).returncode == 0
    assert checksums(again) == checksums(plain)


def test_an_edited_page_or_notebook_is_told_until_it_is_deleted(
    again: Path, plain: Path, root: Path, snakemake: Snakemake
) -> None:
    report, notebooks = "results/report", "results/notebooks"
    edited = [f"{report}/overview.html", f"{report}/claims.html", f"{notebooks}/explore.html"]
    edited += [f"{notebooks}/explore.ipynb", "results/paper/facts.json"]
    for name in edited:
        text = (again / name).read_text(encoding="utf-8")
        (again / name).write_text(text.replace("lpm", "lqm"), encoding="utf-8")
        assert "lqm" in (again / name).read_text(encoding="utf-8")
    pages, facts = edited[:-1], edited[-1]
    refused = snakemake(again, "--cores", "1", *tiny(root))
    assert refused.returncode == 1
    assert f"{facts}: was edited after it was written" in refused.stdout
    (again / facts).unlink()
    told = snakemake(again, "--cores", "1", *tiny(root))
    assert told.returncode == 1, told.stdout
    assert all(f"EDITED after it was written: {name}" in told.stdout for name in pages), told.stdout
    for name in pages:
        (again / name).unlink()
    assert snakemake(again, "--cores", "1", *tiny(root)).returncode == 0
    assert checksums(again) == checksums(plain)


def test_changed_resamples_redo_what_has_intervals_alone(again: Path, root: Path, snakemake: Snakemake) -> None:
    more = again / "more.yaml"  # --config would hand the number on as a text
    more.write_text("bootstrap: {resamples: 100}\n", encoding="utf-8")
    planned = snakemake(again, "--cores", "1", "--dry-run", *tiny(root, str(more)))
    assert jobs(planned) == {"plot_plane": 1, "plot_targets": 1, **AFTER_ROWS}


def test_two_runs_in_one_folder_are_refused(again: Path, root: Path, snakemake: Snakemake) -> None:
    with (again / ".snakemake/fairway.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused = snakemake(again, "--cores", "1", *tiny(root))
    assert refused.returncode == EXIT_BAD_INPUT
    assert "error: another run is at work in this folder" in refused.stdout


@pytest.mark.parametrize("target", ["reproduce", "check"])
def test_make_leaves_a_folder_alone_that_another_run_is_writing(target: str, killed: Killed) -> None:
    kept = killed.folder / "docs/reference/tiny/reference.json"  # without one `make check` would not even begin
    kept.parent.mkdir()
    kept.write_text("{}", encoding="utf-8")
    report = killed.folder / "results/report.html"
    before = report.stat().st_mtime_ns if report.exists() else None
    with (killed.folder / ".snakemake/fairway.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused = shell(killed.folder, f"make {target} CONFIG=config/tiny.yaml CORES=1")
    assert refused.returncode == 2
    assert refused.stdout.count("error: another run is at work in this folder") == 1
    assert (report.stat().st_mtime_ns if report.exists() else None) == before
    shutil.rmtree(kept.parent)


def test_make_says_once_that_there_is_no_tokenizer(unzipped: Path, root: Path) -> None:
    sources = (root / "config/sources.yaml").read_text(encoding="utf-8")
    model = "file: null                # its model"
    assert model in sources
    (unzipped / "no-model.yaml").write_text(sources.replace(model, "file: none.model  #"), encoding="utf-8")
    mine = unzipped / "mine.yaml"
    mine.write_text("corpus: {kind: real, sources: no-model.yaml}\nworkloads: [sec-flood]\n", encoding="utf-8")
    refused = shell(unzipped, "make reproduce CONFIG=mine.yaml CORES=1")
    assert refused.returncode == 2
    assert refused.stdout.count("error: ") == 1, refused.stdout
    assert "error: none.model: there is no tokenizer model. Remedy: " in refused.stdout


@pytest.mark.parametrize("name", ["real-subset", "real-conversation"])
def test_outputs_elsewhere_find_the_sources_of_a_shipped_configuration(
    name: str, root: Path, tmp_path: Path, snakemake: Callable[..., Process]
) -> None:
    options = ["--cores", "1", "--dry-run", "--configfile", str(root / f"config/{name}.yaml")]
    planned = snakemake(tmp_path, *options, "--quiet", "host", "--", "data/corpus/mooncake.jsonl")
    assert planned.returncode == 0, planned.stdout
    assert f"input: {os.path.relpath(root / 'config', tmp_path)}/sources-" in planned.stdout

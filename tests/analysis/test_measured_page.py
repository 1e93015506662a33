"""What is kept of measurements, and what the README says of them."""

import json
import re
import shlex
import subprocess
import sys

import pytest
import yaml

from fairway.analysis.figures import measured_runs
from fairway.analysis.figures.seal import seal
from fairway.analysis.measured import HIT_RATE, OVERHEAD, SLOWNESS, write_comparison
from fairway.analysis.measured_page import measured_page, read_measurement, refuse_edited
from fairway.analysis.tables import write_pages
from fairway.errors import InputError
from fairway.files import sealed

ABOUT = ("device", "model", "versions", "commits")
PROFILE = {
    "measurement": {
        "settings": {"dtype": "float32"},
        "date": "2026-01-01",
        "commit": "abc",
        "held_out": [{"residual_share": share} for share in (-0.01, 0.02, 0.07)],
        "fitted": [{"chunks": [[2, 0], [2, 9]], "residual_share": share} for share in (0.03, -0.2, 0.01)],
        "drift": {"ratio": 1.013},
    }
}


def row(figure, measured, simulated=None, **more):
    held = {"tolerance": 0.05, "agrees": False, "difference": -0.1, "difference_at_speed": 0.01} if simulated else {}
    ends = {"lowest": 0.9 * measured, "highest": 1.1 * measured, "repeats": 5}
    empty = {"tolerance": None, "agrees": None, "difference": None, "simulated_at_speed": simulated}
    empty["difference_at_speed"] = None
    run = {"workload": "spike", "policy": "fcfs", "figure": figure, "edited": ""}
    return {**run, "measured": measured, "simulated": simulated, **ends, **empty, **held, **more}


@pytest.fixture
def table():
    rows = [
        row("p50", 1.0, 0.9),
        row("p99", 4.0, 3.6, agrees=True),
        row(HIT_RATE, 0.5, 0.501, agrees=True),
        row(OVERHEAD, 12.0),
        row(SLOWNESS, 1.08),
        row("time between tokens p50, ms", 20.0),
        row("time between tokens p99, ms", 80.0),
        row("tokens a second", 300.0),
    ]
    about = {"device": "a processor, 2 cores", "model": "m", "versions": {"vllm": "0.32.0"}, "commits": ["abc", "def"]}
    return {**about, "rows": rows}


def test_the_page_says_what_was_measured_on_what_and_how_far_it_agrees(table):
    page = measured_page("cpu", [table], PROFILE, 1, "runs.svg")
    assert all(len(line) <= 120 for line in page.splitlines() if line[:1] != "|")
    page = " ".join(page.split())
    assert page.startswith("# cpu, measured a processor, 2 cores, m with made-up weights, vllm 0.32.0 (dtype float32)")
    assert "Traces of each workload: 1; repeats of each under each policy, in turn with the others: 5;" in page
    assert "off by 2.0% in the median and by 7.0% at worst of 3 random steps" in page
    assert "agree 0 of 1 medians (within 5%), 1 of 1 p99 (within 10%) and 1 of 1 hit rates" in page
    assert "and by 3.0% and 20.0% (a step of 4 tokens) of the 3 that it was fitted to" in page
    assert "12 to 12 ms beyond steps" in page
    assert "profile of 2026-01-01 at commit abc, runs at abc, def." in page
    assert "1.08 to 1.08 times what the profile says of the same steps;" in page
    assert "simulated at each run's speed, 2 of 2 medians and p99 agree." in page
    assert "| simulated 0.90 s, measured 1.00 s (0.90 s to 1.10 s): differs by -10.0% |" in page
    assert "| 20.0 (18.0 to 22.0) | 80.0 (72.0 to 88.0) | 300.0 (270.0 to 330.0) |" in page


def test_the_figure_shows_each_policy_and_says_on_what_it_was_measured(table, tmp_path):
    measured_runs.plot([table], tmp_path / "runs.pdf", tmp_path / "runs.svg")
    drawn = (tmp_path / "runs.svg").read_text(encoding="utf-8")
    assert "measured, a processor, 2 cores, m; vllm 0.32.0" in drawn


def test_a_fit_that_ended_early_is_said(table):
    measurement = {**PROFILE["measurement"], "fit_is_best": False}
    said = "Warning: the fit ended before it was the closest to the measured steps."
    pages = [
        measured_page("cpu", [table], profile, 1, "runs.svg") for profile in (PROFILE, {"measurement": measurement})
    ]
    assert [said in " ".join(page.split()) for page in pages] == [False, True]


def test_another_profile_is_refused_with_its_name(tmp_path):
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(sealed(PROFILE)))
    assert read_measurement(file) == PROFILE
    whole = PROFILE["measurement"]
    lacking = [{key: value for key, value in whole.items() if key != lost} for lost in whole]
    for odd in (*lacking, {**whole, "held_out": []}, {**whole, "drift": 1}, {**whole, "settings": 1}, [], None):
        file.write_text(json.dumps(sealed({"measurement": odd})))
        with pytest.raises(InputError, match="is no profile of scripts") as refused:
            read_measurement(file)
        assert refused.value.file == file


def test_what_rests_on_an_edited_file_is_not_published(table):
    refuse_edited([table])
    table["rows"][0]["edited"] = "requests.parquet of rows/vllm/2/spike/fcfs"
    with pytest.raises(InputError, match=r"edited after it was written: requests\.parquet of rows/vllm/2/spike/fcfs"):
        refuse_edited([table])


@pytest.fixture
def checkout(root, table, tmp_path):
    """Lay out a repository with a day's finished measurements."""
    day = yaml.safe_load((root / "config/measured/cpu-loop.yaml").read_text(encoding="utf-8"))
    for name in ("Makefile", "scripts", "src", "config", "requirements"):
        (tmp_path / name).symlink_to(root / name)
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    (tmp_path / ".venv/.installed-run").touch()
    source = tmp_path / "results/measured" / day["profile"]["name"]
    (source / "tables").mkdir(parents=True)
    (source / "figures").mkdir()
    for name, document in {"first": table, "then": table, "claims": {"claims": []}}.items():
        if name == "claims":
            write_pages(source / "tables", name, document, "a,b\n", "claims\n")
        else:
            write_comparison(document["rows"], {key: document[key] for key in ABOUT}, source / "tables", name)
    (source / "profile.json").write_text(json.dumps(sealed(PROFILE)))
    for figure in ("profile.svg", "runs.svg"):
        path = source / "figures" / figure
        path.write_text("<svg/>")
        seal(path, "svg")
    (tmp_path / "README.md").write_text("a\n<!-- measured runs: begin -->\nnone\n<!-- measured runs: end -->\nb\n")
    return tmp_path


def publish(checkout):
    command = ["make", "publish-measured", "DAY=config/measured/cpu-loop.yaml"]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)


def test_make_keeps_the_files_and_shows_them(checkout):
    done = publish(checkout)
    assert done.returncode == 0, done.stderr
    text = (checkout / "README.md").read_text(encoding="utf-8")
    assert "(docs/measured/cpu-tiny-llama/README.md)" in text
    kept = checkout / "docs/measured/cpu-tiny-llama"
    assert "](runs.svg)" in (kept / "README.md").read_text(encoding="utf-8")
    assert "none" not in text
    assert {"claims.json", "first.md", "then.csv", "profile.json", "runs.svg"} <= {file.name for file in kept.iterdir()}


@pytest.mark.parametrize(
    "name",
    ["tables/first.json", "tables/then.md", "tables/claims.json", "tables/claims.csv", "figures/runs.svg", "README.md"],
)
def test_what_was_edited_or_lacks_its_place_is_not_kept_and_nothing_is_written(checkout, name):
    path = checkout / name
    if path.exists():
        path.write_text("edited\n", encoding="utf-8")
    else:
        path = checkout / "results/measured/cpu-tiny-llama" / name
        path.write_text(re.sub(r"\w", "x", path.read_text(encoding="utf-8"), count=3), encoding="utf-8")
    done = publish(checkout)
    assert done.returncode == 2
    assert ". Remedy: " in done.stderr
    assert not (checkout / "docs/measured").exists()

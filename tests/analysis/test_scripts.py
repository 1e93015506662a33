from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from fairway.files import without_seal, write_sealed, write_sealed_with_copy, write_text

REPOSITORY = Path(__file__).parents[2]
POLICIES = ("fcfs", "lpm", "ragcache", "fairway")
EXACT = {name: {"holds": True, "detail": "checked", "cases": 10} for name in ("overtaking-bound", "score-identities")}
PICTURES = {"spike_timeline": "sec-dynamic-a", "flood": "sec-flood"}


def call(script: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, REPOSITORY / "scripts" / f"{script}.py", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "src"), **environment},
    )


def answer(root: Path, out: Path, *more: str, **environment: str) -> subprocess.CompletedProcess[str]:
    exact = root.parent / "exact.json"
    if not exact.exists():
        write_sealed(exact, EXACT)
    return call(
        "answer_claims",
        *("--rows-root", root, "--workloads", "sec-dynamic-a", "sec-flood", "--policies", *POLICIES),
        *("--seeds-expected", 5, "--exact", exact, "--claims", REPOSITORY / "paper" / "claims.yaml"),
        *("--resamples", 200, "--out-dir", out, *more),
        **environment,
    )


def tabulate(root: Path, out: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return call(
        "tabulate_metrics",
        *("--rows-root", root, "--workloads", "sec-dynamic-a", "sec-flood", "--policies", *POLICIES),
        *("--resamples", 200, "--out-dir", out),
        **environment,
    )


def plot(name: str, root: Path, out: Path, *policies: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return call(
        f"plot_{name}",
        *("--rows-root", root, "--workload", PICTURES[name], "--policies", *(policies or POLICIES)),
        *("--out-pdf", out / f"{name}.pdf", "--out-svg", out / f"{name}.svg"),
        **environment,
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_claims_of_a_device_get_a_column(untouched_rows: Path, tmp_path: Path) -> None:
    done = answer(untouched_rows, tmp_path / "device")
    assert done.returncode == 0, done.stderr
    done = answer(untouched_rows, tmp_path / "tables", "--measured", str(tmp_path / "device/claims.json"))
    assert done.returncode == 0, done.stderr
    device = json.loads((tmp_path / "device/claims.json").read_text(encoding="utf-8"))
    head, _, *lines = [
        [cell.strip() for cell in line.split("|")]
        for line in (tmp_path / "tables/claims.md").read_text(encoding="utf-8").split("### Checks")[0].splitlines()
        if line.startswith("|")
    ]
    column = head.index(f"Measured: {device['profiles'][0]}")
    said = [claim["verdict"] if claim["evidence"] != "exact" else "-" for claim in device["claims"]]
    assert said.count("-") == 2, "what no run shows is not measured on a device either"
    assert [cells[column].startswith(verdict) for cells, verdict in zip(lines, said, strict=True)] == [True] * len(said)
    assert "Measured" not in (tmp_path / "device/claims.md").read_text(encoding="utf-8")


def test_claims_are_answered_and_shown(rows_root: Path, tmp_path: Path) -> None:
    assert answer(rows_root, tmp_path / "out").returncode == 0
    assert list(contents(tmp_path / "out")) == ["claims.csv", "claims.json", "claims.md"]
    document = json.loads((tmp_path / "out" / "claims.json").read_text(encoding="utf-8"))
    assert len(document["claims"]) == 19
    assert sum(document["verdicts"].values()) == 19
    assert len(pd.read_csv(tmp_path / "out" / "claims.csv")) == 19
    shown = call("show_claims", "--claims", tmp_path / "out" / "claims.json")
    assert shown.returncode == 0
    assert max(map(len, shown.stdout.splitlines())) <= 120 + len(str(tmp_path))
    assert document["claims_sha256"] in shown.stdout
    assert "modelled" in shown.stdout


def test_an_edited_result_ends_in_status_1_with_old_and_new_numbers(rows_root: Path, tmp_path: Path) -> None:
    path = rows_root / "sec-flood" / "fairway" / "requests.parquet"
    frame = pd.read_parquet(path)
    frame["first_token_ns"] = frame["arrival_ns"] + 10**12
    frame.to_parquet(path)
    found = answer(rows_root, tmp_path / "out")
    assert found.returncode == 1
    assert "EDITED after it was written: requests.parquet of sec-flood/fairway" in found.stdout
    assert "-> 1,000 s" in found.stdout
    assert "(indicative, edited)" in (tmp_path / "out" / "claims.md").read_text(encoding="utf-8")
    assert call("show_claims", "--claims", tmp_path / "out" / "claims.json").returncode == 1


def test_an_edited_exact_check_is_marked_and_ends_in_status_1(rows_root: Path, tmp_path: Path) -> None:
    exact = rows_root.parent / "exact.json"
    write_sealed_with_copy(exact, EXACT)
    text = exact.read_text(encoding="utf-8").replace('"holds": true', '"holds": false', 1).replace("10", "99", 1)
    exact.write_text(text, encoding="utf-8")
    found = answer(rows_root, tmp_path / "out")
    assert found.returncode == 1
    told = "exact.json of the exact checks (overtaking-bound: holds true -> false; overtaking-bound: cases 10 -> 99)"
    assert f"EDITED after it was written: {told}" in " ".join(found.stdout.split())
    claims = json.loads((tmp_path / "out" / "claims.json").read_text(encoding="utf-8"))["claims"]
    assert [claim["id"] for claim in claims if claim["edits"]] == ["overtaking-bound", "score-identities"]


def test_an_edit_that_hides_what_it_changed_is_told_all_the_same(rows_root: Path, tmp_path: Path) -> None:
    exact = rows_root.parent / "exact.json"
    write_sealed_with_copy(exact, EXACT)
    exact.write_text(exact.read_text(encoding="utf-8").replace("10", "99"), encoding="utf-8")
    found = answer(rows_root, tmp_path / "out")
    assert found.returncode == 1
    assert "exact.json of the exact checks (none of the values kept beside it moved)" in " ".join(found.stdout.split())


def test_an_edited_table_is_not_shown_as_if_it_were_ours(rows_root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer(rows_root, out)
    tabulate(rows_root, out)
    show = ("show_claims", "--claims", out / "claims.json", "--tables", out / "metrics.json")
    assert call(*show).returncode == 0
    page = out / "metrics.csv"
    page.write_text(page.read_text(encoding="utf-8").replace("5", "6"), encoding="utf-8")
    shown = call(*show)
    assert (shown.returncode, "EDITED after it was written: metrics.csv" in shown.stdout) == (1, True)
    document = out / "claims.json"
    document.write_text(document.read_text(encoding="utf-8").replace('"holds"', '"does not hold"'), encoding="utf-8")
    shown = call(*show)
    assert (shown.returncode, "was edited after it was written" in shown.stderr) == (2, True)
    write_text(document, json.dumps(without_seal(json.loads(document.read_text(encoding="utf-8")))))
    shown = call(*show)
    assert (shown.returncode, "was edited after it was written" in shown.stderr) == (2, True)


@pytest.mark.parametrize("suffix", [".pdf", ".svg"])
def test_an_edited_figure_is_told(rows_root: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / "out"
    answer(rows_root, out)
    plot("flood", rows_root, out)
    figures = [out / "flood.pdf", out / "flood.svg"]
    show = ("show_claims", "--claims", out / "claims.json", "--figures", *figures)
    assert call(*show).returncode == 0
    figure = out / f"flood{suffix}"
    figure.write_bytes(figure.read_bytes().replace(b"0", b"1", 1))
    shown = call(*show)
    assert (shown.returncode, f"EDITED after it was written: {figure}" in shown.stdout) == (1, True)


def test_a_figure_of_an_edited_result_says_so(rows_root: Path, tmp_path: Path) -> None:
    path = rows_root / "sec-flood" / "fairway" / "requests.parquet"
    frame = pd.read_parquet(path)
    frame["first_token_ns"] += 1
    frame.to_parquet(path)
    plot("flood", rows_root, tmp_path)
    assert "EDITED" in (tmp_path / "flood.svg").read_text(encoding="utf-8")


def test_a_deleted_result_ends_in_status_1_and_is_named(rows_root: Path, tmp_path: Path) -> None:
    shutil.rmtree(rows_root / "sec-flood" / "lpm")
    found = answer(rows_root, tmp_path / "out")
    assert found.returncode == 1
    assert "missing: sec-flood/lpm/requests.parquet" in found.stdout
    assert len(contents(tmp_path / "out")) == 3
    assert answer(rows_root, tmp_path / "out", "--status-later").returncode == 0
    assert call("show_claims", "--claims", tmp_path / "out" / "claims.json").returncode == 1


def test_a_truncated_result_is_one_line_status_2_and_writes_nothing(rows_root: Path, tmp_path: Path) -> None:
    path = rows_root / "sec-flood" / "lpm" / "hooks.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    for found in (answer(rows_root, tmp_path / "out"), tabulate(rows_root, tmp_path / "out")):
        assert found.returncode == 2
        assert "hooks.parquet" in found.stderr
        assert len(found.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_metrics_are_tabulated(rows_root: Path, tmp_path: Path) -> None:
    assert tabulate(rows_root, tmp_path / "out").returncode == 0
    table = pd.read_csv(tmp_path / "out" / "metrics.csv")
    assert set(table.policy) == set(POLICIES)
    assert "warm-up" not in set(table.phase)
    assert (table.p50_low_s <= table.p50_s).all()
    assert (table.p50_s <= table.p50_high_s).all()
    assert table.uncached_p95_over_p5.notna().equals(table.policy == "fcfs")


@pytest.mark.parametrize("name", PICTURES)
def test_a_missing_policy_is_named_and_nothing_drawn(rows_root: Path, tmp_path: Path, name: str) -> None:
    found = plot(name, rows_root, tmp_path / "out", "fcfs", "peek")
    assert found.returncode == 2
    assert "peek" in found.stderr
    assert not (tmp_path / "out").exists()


def test_outputs_are_the_same_bytes_everywhere(rows_root: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(rows_root, tmp_path / "another place" / "rows"))
    places = ((rows_root, tmp_path / "one", {}), (other, tmp_path / "two", {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}))
    for root, out, environment in places:
        for found in (
            answer(root, out, **environment),
            tabulate(root, out, **environment),
            *(plot(name, root, out, **environment) for name in PICTURES),
        ):
            assert found.returncode == 0, found.stderr
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    for name, text in contents(tmp_path / "one").items():
        assert str(tmp_path).encode() not in text, name


STUDIES = {
    "plot_scenarios": (),
    "plot_plane": (),
    "plot_targets": (),
    "plot_ablations": (),
    "plot_spread": (),
    "plot_sensitivity": (),
    "plot_regimes": ("--places",),
    "plot_order_shift": (),
    "tabulate_comparison": (),
    "tabulate_sensitivity": (),
    "tabulate_regimes": ("--places",),
}


def study(script: str, root: Path, out: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run one script of several workloads; Fairway's own copies stand in for variants, a workload for the sweep."""
    if script == "plot_order_shift":
        asked: tuple[object, ...] = ("--workload", "sec-dynamic-a")
    else:
        policies = (
            ("fcfs", "fairway", "fairway-weight-2") if "sensitivity" not in script else ("fairway", "fairway-weight-2")
        )
        asked = ("--workloads", "sec-dynamic-a", "--policies", *policies, "--lacking-policies", "peek")
    if script not in ("plot_order_shift", "plot_spread"):
        asked += ("--claims", REPOSITORY / "paper" / "claims.yaml", "--resamples", 50)
    if "--places" in STUDIES[script]:
        asked += ("--places", root.parent)
    pictures = ("--out-pdf", out / f"{script}.pdf", "--out-svg", out / f"{script}.svg")
    written = pictures if script.startswith("plot") else ("--out-dir", out)
    return call(script, "--rows-root", root, *asked, *written, **environment)


@pytest.mark.slow
@pytest.mark.parametrize("script", STUDIES)
def test_studies_are_the_same_bytes_everywhere(
    script: str, rows_root: Path, tmp_path: Path, write: Callable[..., Path]
) -> None:
    write(rows_root, "sec-dynamic-a", "fairway-weight-2")
    other = Path(shutil.copytree(rows_root, tmp_path / "another place" / "rows"))
    places = ((rows_root, tmp_path / "one", {}), (other, tmp_path / "two", {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}))
    for root, out, environment in places:
        write_sealed(root.parent / "sec-dynamic-a.json", {"spread": 9, "load": 1.5, "hot_share": 0.5})
        found = study(script, root, out, **environment)
        assert found.returncode == 0, found.stderr
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert len(contents(tmp_path / "one")) == (2 if script.startswith("plot") else 3)


def test_a_reference_is_published_into_a_readme(rows_root: Path, tmp_path: Path) -> None:
    assert answer(rows_root, tmp_path / "tables").returncode == 0
    parts = tmp_path / "tables" / "claims.json"
    assert call("summarise", "--parts", parts, "--out", tmp_path / "summary.json").returncode == 0
    readme = tmp_path / "README.md"
    readme.write_text((REPOSITORY / "README.md").read_text(encoding="utf-8"), encoding="utf-8")
    options = ("--summary", tmp_path / "summary.json", "--config", REPOSITORY / "config" / "quick.yaml")
    origin = ("--date", "2026-02-03", "--commit", "c0ffee00c0ffee00")
    places = ("--references", tmp_path / "reference", "--readme", readme)
    times = {"policy": "lpm", "waiting": 32, "median_us": 20.5, "p90_us": 30.0, "repetitions": 7}
    scheduling = tmp_path / "times.json"
    write_sealed(scheduling, {"machine": {"cores": 2}, "rows": [times]})
    published = call("publish_reference", *options, "--scheduling", scheduling, *origin, *places)
    assert published.returncode == 0, published.stderr
    assert "on 2026-02-03 at commit c0ffee00c0ff" in readme.read_text(encoding="utf-8")
    folder = tmp_path / "reference" / "quick"
    assert sorted(path.name for path in folder.iterdir()) == ["claims.md", "reference.json", "scheduling.md"]
    readme.write_text("no markers", encoding="utf-8")
    shutil.rmtree(folder)
    refused = call("publish_reference", *options, *origin, *places)
    assert refused.returncode == 2
    assert not folder.exists(), "nothing half-written"


@pytest.mark.parametrize(
    "script", ["answer_claims", "show_claims", "tabulate_metrics", "plot_spike_timeline", "plot_flood"]
)
def test_scripts_explain_themselves(script: str) -> None:
    found = call(script, "--help")
    assert found.returncode == 0
    assert "usage" in found.stdout

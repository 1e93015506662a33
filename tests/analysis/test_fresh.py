"""A fresh run is held against the kept reference: nothing planted, nothing found; what is planted is found."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairway.analysis.summary import PAGES_BESIDE, PAGES_OF_A_RUN
from fairway.files import sealed

Tables = dict[str, Any]
Check = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def name(root: Path) -> str:
    """Return the name of the reference that the README shows."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^Reference run of [^|]*?docs/reference/([a-z0-9-]+)/claims\.md", readme, flags=re.MULTILINE)
    return shown


@pytest.fixture
def tables(root: Path, name: str) -> Tables:
    text = (root / f"docs/reference/{name}/reference.json").read_text(encoding="utf-8")
    return of_a_run(json.loads(text)["tables"])


def of_a_run(tables: Tables) -> Tables:
    """Leave out what only stands beside a kept run."""
    return {name: table for name, table in tables.items() if name in PAGES_OF_A_RUN}


@pytest.fixture
def check(root: Path, tmp_path: Path, name: str) -> Check:
    def run(fresh: Tables, *options: str, config: str = name) -> subprocess.CompletedProcess[str]:
        (tmp_path / "summary.json").write_text(json.dumps(sealed(fresh)), encoding="utf-8")
        command = [sys.executable, root / "scripts/check_reference.py", "--summary", tmp_path / "summary.json"]
        places = ["--config", root / f"config/{config}.yaml", "--references", root / "docs/reference"]
        environment = os.environ | {"PYTHONPATH": str(root / "src")}
        return subprocess.run(
            [*command, *places, *options],
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )

    return run


def test_the_same_results_agree(tables: Tables, check: Check) -> None:
    done = check(tables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("agrees: all ")


def test_what_stands_beside_any_kept_run_is_no_difference(root: Path, check: Check) -> None:
    beside = set()
    for file in sorted((root / "docs/reference").glob("*/reference.json")):
        tables = json.loads(file.read_text(encoding="utf-8"))["tables"]
        done = check(of_a_run(tables), config=file.parent.name)
        assert done.stdout.splitlines()[-1].startswith("agrees: all "), f"{file}: {done.stdout}{done.stderr}"
        beside |= tables.keys() - of_a_run(tables).keys()
    assert beside == set(PAGES_BESIDE)


def test_a_changed_verdict_and_moved_values_are_told(tables: Tables, check: Check) -> None:
    claim = next(claim for claim in tables["claims"]["claims"] if claim["id"] == "no-starvation")
    claim["verdict"] = "does not hold"
    row = next(row for row in tables["metrics"]["rows"] if (row["workload"], row["policy"]) == ("sec-flood", "lpm"))
    row["p99_s"] *= 1.5
    row["requests"] += 1
    tables["comparison"]["rows"].reverse()  # an order is no value
    done = check(tables, "--most", "1")
    assert done.returncode == 1
    _, verdict, moved, more, end = done.stdout.splitlines()
    assert verdict == "VERDICT CHANGED: claims / claims / no-starvation / verdict: 'holds' -> 'does not hold'"
    assert moved.startswith("moved: metrics / rows / sec-flood lpm ")
    assert moved.endswith(" (+50%)")
    assert "/ p99_s: " in moved
    assert more.startswith("and 1 more")
    assert end.startswith("DIFFERS: 1 verdicts and 2 of ")


def test_an_edited_result_is_named_and_is_a_difference_also_where_no_value_moved(tables: Tables, check: Check) -> None:
    move = {"name": "requests: ttft: spike, any kind: p99_ns", "old": 10**9, "new": 2 * 10**9}
    edit = {"result": "sec-flood/lpm", "files": ["requests.parquet"], "moved": [move]}
    tables["claims"]["edited"] = [edit]
    tables["claims"]["claims"][0]["edits"] = [edit]
    for row in tables["metrics"]["rows"]:
        row["evidence"] += ", EDITED after it was written"
    done = check(tables)
    assert done.returncode == 1
    _, edited, end = done.stdout.splitlines()
    told = "requests.parquet of sec-flood/lpm (spike, any kind: p99 1 s -> 2 s)"
    assert edited.startswith(f"EDITED after it was written: {told}. Delete it")
    assert end.startswith("DIFFERS: 0 verdicts and 0 of ")
    assert end.endswith("; 1 results were edited.")


@pytest.mark.parametrize("least", [1e-12, -1e-12])
def test_there_is_no_tolerance(least: float, tables: Tables, check: Check) -> None:
    tables["metrics"]["rows"][0]["p50_s"] *= 1 + least
    assert check(tables).returncode == 1


def test_what_was_measured_elsewhere_is_no_difference(tables: Tables, check: Check) -> None:
    tables["claims"]["measured"] = [{"profiles": ["cpu"], "stand_ins": [], "answers": {"flood": "holds"}}]
    assert check(tables).returncode == 0


def test_what_is_missing_or_new_differs(tables: Tables, check: Check) -> None:
    lost = tables["claims"]["claims"].pop()
    tables["made-up"] = {"rows": []}
    done = check(tables)
    assert done.returncode == 1
    assert f"claims / claims / {lost['id']}: " in done.stdout
    assert " -> nothing" in done.stdout
    assert "made-up: nothing -> " in done.stdout


def test_a_configuration_without_reference_is_refused(tables: Tables, check: Check, name: str) -> None:
    done = check(tables, config="tiny")
    assert done.returncode == 2
    assert "no reference of" in done.stderr
    assert f"config/{name}.yaml" in done.stderr

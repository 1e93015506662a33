from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fairway import rows
from fairway.errors import InputError

RESULT = {"workload": "w", "policy": "fcfs"}


def requests() -> dict[str, Any]:
    return {
        **{name: [value] * 3 for name, value in RESULT.items()},
        "seed": [1, 1, 2],
        "request": [0, 1, 0],
        "kind": ["hit", "miss", "miss"],
        "phase": ["warm-up", "spike", "spike"],
        "arrival_ns": [0, 10, 20],
        "start_ns": [5, 15, None],
        "first_token_ns": [7, 40, None],
        "prompt_tokens": [100, 200, 10**6],
        "hit_tokens": [16, 0, None],
        "preemptions": [0, 0, 0],
        "outcome": ["served", "served", "unservable"],
    }


def hooks() -> dict[str, Any]:
    columns = {name: [value] for name, value in RESULT.items()}
    counts = ("step", "now_ns", "waiting", "uncached_min", "uncached_p5", "uncached_p50", "uncached_p95")
    columns |= {name: [1] for name in ("seed", *counts, "uncached_max")}
    return columns | {"arrival_correlation": [None], "lpm_correlation": [0.5]}


def runs() -> dict[str, Any]:
    columns: dict[str, Any] = {name: [value] * 2 for name, value in RESULT.items()} | {"seed": [1, 2]}
    integers = [field.name for field in rows.RUNS.schema if str(field.type) == "int64" and field.name != "seed"]
    columns |= {name: [3, 4] for name in integers}
    names = ("backend", "evidence", "profile", "profile_evidence", "corpus", "trace_sha256", "reuse", "left_out")
    return columns | {name: ["x", "x"] for name in names}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows.write_rows(tmp_path, requests(), hooks(), runs())
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in rows.FILE_NAMES}


def test_rows_come_back_as_written(folder: Path) -> None:
    table = rows.read_requests(folder)
    assert table.schema.equals(rows.REQUESTS.schema)
    assert table.to_pydict() == requests()
    assert rows.read_hooks(folder).to_pydict() == hooks()
    assert rows.read_runs(folder).to_pydict() == runs()


@pytest.mark.parametrize("column", rows.REQUESTS.schema.names)
def test_a_dropped_column_fails_and_writes_nothing(tmp_path: Path, column: str) -> None:
    columns = requests()
    del columns[column]
    with pytest.raises(ValueError, match=column):
        rows.write_rows(tmp_path, columns, hooks(), runs())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("column", "values", "problem"),
    [
        ("arrival_ns", [0, None, 20], "null"),
        ("request", [0, 0, 0], "one key"),
        ("policy", ["fcfs", "lpm", "lpm"], "more than one policy"),
        ("invented", [1, 2, 3], "unknown"),
    ],
)
def test_rows_that_cannot_be_told_apart_are_refused(
    tmp_path: Path, column: str, values: list[Any], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        rows.write_rows(tmp_path, requests() | {column: values}, hooks(), runs())


def test_bytes_do_not_depend_on_the_order_of_rows(folder: Path, tmp_path: Path) -> None:
    backwards = {name: values[::-1] for name, values in requests().items()}
    rows.write_rows(tmp_path / "again", backwards, hooks(), runs())
    assert contents(tmp_path / "again") == contents(folder)


def test_a_truncated_file_is_named(folder: Path) -> None:
    path = folder / "requests.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"requests\.parquet.*Remedy"):
        rows.read_requests(folder)


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "hooks.parquet").unlink()
    with pytest.raises(InputError, match=r"hooks\.parquet: rows are missing"):
        rows.read_hooks(folder)


def test_another_table_is_refused(folder: Path) -> None:
    (folder / "runs.parquet").write_bytes((folder / "hooks.parquet").read_bytes())
    with pytest.raises(InputError, match=r"runs\.parquet: not the runs table"):
        rows.read_runs(folder)


def test_a_hit_that_is_no_number_is_refused(folder: Path) -> None:
    frame = pd.read_parquet(folder / "requests.parquet").astype({"prompt_tokens": "str"})
    frame["prompt_tokens"] = "many"
    frame.to_parquet(folder / "requests.parquet")
    with pytest.raises(InputError, match=r"requests\.parquet"):
        rows.read_requests(folder)


def test_a_seal_of_untouched_files_says_nothing(folder: Path) -> None:
    assert rows.verify_seal(folder) == rows.SealCheck(edited=(), moved=())


def test_a_seal_says_which_file_was_edited_and_how_numbers_moved(folder: Path) -> None:
    frame = pd.read_parquet(folder / "requests.parquet")
    frame.loc[1, "first_token_ns"] = 110
    frame.to_parquet(folder / "requests.parquet", index=False)
    check = rows.verify_seal(folder)
    assert check.edited == ("requests.parquet",)
    assert rows.Move("requests: ttft: spike, miss: worst_ns", 30, 100) in check.moved
    assert rows.read_requests(folder).schema.equals(rows.REQUESTS.schema)


def test_a_seal_that_is_none_is_named(folder: Path) -> None:
    (folder / rows.SEAL).write_text(json.dumps({"files": 3}), encoding="utf-8")
    with pytest.raises(InputError, match=r"seal\.json: not a seal"):
        rows.verify_seal(folder)

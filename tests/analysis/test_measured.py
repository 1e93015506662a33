"""Simulated beside measured: figures, repeats, tolerances, and what cannot be compared."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairway.analysis.measured import about, compare, figures, slowness, write_comparison
from fairway.analysis.tables import edited_lines
from fairway.errors import InputError
from fairway.files import write_sealed
from fairway.rows import HOOKS, MEASUREMENT, RUNS, write_rows

S = 1_000_000_000


def rows(folder, ttft_s, hit_tokens=100, sha="trace", gaps=None, overhead_ms=0.0, slowness=1.0):
    """Write rows of one run: 10 requests of the warm-up that take a minute, and those given."""
    ttft_ns = [60 * S] * 10 + [round(one * S) for one in ttft_s]
    count = len(ttft_ns)
    key = {"workload": ["w"] * count, "policy": ["p"] * count, "seed": [1] * count}
    requests = {
        **key,
        "request": list(range(count)),
        "kind": ["usual"] * count,
        "phase": ["warm-up"] * 10 + ["spike"] * len(ttft_s),
        "arrival_ns": [0] * count,
        "start_ns": [None] * count,
        "first_token_ns": ttft_ns,
        "prompt_tokens": [1_000] * count,
        "hit_tokens": [hit_tokens] * count,
        "preemptions": [0] * count,
        "outcome": ["served"] * count,
    }
    hooks = {name: [] for name in HOOKS.schema.names}
    texts = {field.name: "x" if pa.types.is_dictionary(field.type) else 0 for field in RUNS.schema}
    runs = {name: [value] for name, value in texts.items()}
    runs |= {"workload": ["w"], "policy": ["p"], "seed": [1], "trace_sha256": [sha]}
    runs |= {"prompt_tokens": [1_000 * count], "hit_tokens": [hit_tokens * count]}
    write_rows(folder, requests, hooks, runs)
    lone = {"overhead_ms": overhead_ms, "slowness": slowness}
    late = {"client_late_ms": {"p99": 1.0}}
    fact = {
        "token_gap_ms": gaps or {},
        "tokens_per_s": 50.0,
        "lone_requests": lone,
        "steps": {"seconds": 8 * slowness, "profile_seconds": 8},
        "commit": "abc",
        **late,
    }
    versions = {"device": "a device", "model": "m", "versions": {"vllm": "0.32.0"}}
    write_sealed(folder / MEASUREMENT, {**versions, "runs": [fact]})
    return folder


def test_the_warm_up_does_not_count(tmp_path):
    found = figures(rows(tmp_path / "a", [1.0] * 50 + [2.0] * 50))
    assert (found.p50_s, found.p99_s, found.hit_rate) == (1.0, 2.0, 0.1)


def test_repeats_are_summed_up_and_held_against_the_simulation(tmp_path):
    simulated = rows(tmp_path / "sim", [1.0] * 99 + [4.0] * 3, hit_tokens=100)
    repeats = [
        rows(tmp_path / f"{place}", [middle] * 99 + [worst] * 3, hit_tokens=hit)
        for place, (middle, worst, hit) in enumerate([(0.9, 5.0, 99), (1.02, 3.9, 110), (1.1, 4.0, 120)])
    ]
    p50, p99, hit_rate, *_ = compare("w", "p", simulated, [simulated] * 3, repeats)
    assert (p50["simulated"], p50["measured"], p50["lowest"], p50["highest"]) == (1.0, 1.02, 0.9, 1.1)
    assert p50["agrees"] is True
    assert p99["agrees"] is True
    assert hit_rate["difference"] == pytest.approx(-0.01)
    assert hit_rate["agrees"] is False


@pytest.mark.parametrize(("measured_s", "agrees"), [(1.0, True), (1.06, False), (0.94, False)])
def test_the_tolerance_of_the_median_is_five_percent(tmp_path, measured_s, agrees):
    simulated, measured = rows(tmp_path / "sim", [1.0] * 5), rows(tmp_path / "real", [measured_s] * 5)
    assert compare("w", "p", simulated, [simulated], [measured])[0]["agrees"] is agrees


def test_http_and_the_devices_speed_are_told_from_the_rest(tmp_path):
    simulated, speeds = rows(tmp_path / "sim", [1.0] * 5), (1.1, 1.2, 1.5)
    at_speed = [rows(tmp_path / f"slow-{one}", [one] * 5) for one in speeds]
    measured = [rows(tmp_path / f"{one}", [one + 0.1] * 5, overhead_ms=20.0, slowness=one) for one in speeds]
    p50, *_, beyond, _, steps, _ = compare("w", "p", simulated, at_speed, measured)
    assert p50["simulated"] == pytest.approx(1.02)
    assert p50["agrees"] is False
    assert p50["simulated_at_speed"] == pytest.approx(1.22)
    assert p50["difference_at_speed"] == pytest.approx(1.22 / 1.3 - 1), "the middle one of each repeat's own"
    assert beyond["measured"] == 20.0
    assert (steps["lowest"], steps["measured"], steps["highest"]) == pytest.approx(speeds)
    assert [slowness(folder / MEASUREMENT) for folder in measured] == pytest.approx(speeds)


def test_other_traces_cannot_be_compared(tmp_path):
    simulated, measured = rows(tmp_path / "sim", [1.0]), rows(tmp_path / "real", [1.0], sha="another")
    with pytest.raises(InputError, match="was measured on other traces"):
        compare("w", "p", simulated, [simulated], [measured])


def test_time_between_tokens_stands_where_there_are_several(tmp_path):
    simulated = rows(tmp_path / "sim", [1.0])
    measured = rows(tmp_path / "real", [1.0], gaps={"p50": 20.0, "p99": 80.0, "worst": 90.0})
    found = {row["figure"]: row for row in compare("w", "p", simulated, [simulated], [measured])}
    assert found["time between tokens p99, ms"]["measured"] == 80.0
    assert found["tokens a second"]["simulated"] is None
    write_comparison(list(found.values()), about([measured]), tmp_path, "first")
    page = (tmp_path / "first.md").read_text(encoding="utf-8")
    assert page.startswith("Measured on a device with m (vllm 0.32.0)")
    assert "| w | p | tokens a second | - | 50 |" in page
    assert json.loads((tmp_path / "first.json").read_text(encoding="utf-8"))["commits"] == ["abc"]


def test_edited_facts_beside_the_rows_are_refused(tmp_path):
    simulated, repeat = rows(tmp_path / "sim", [1.0]), rows(tmp_path / "0", [1.0])
    file = repeat / MEASUREMENT
    write_sealed(file, json.loads(file.read_text(encoding="utf-8")))
    compare("w", "p", simulated, [simulated], [repeat])
    file.write_text(file.read_text(encoding="utf-8").replace('"slowness": 1.0', '"slowness": 0.5', 1), encoding="utf-8")
    with pytest.raises(InputError, match=r"0/measurement\.json: was edited after it was written"):
        compare("w", "p", simulated, [simulated], [repeat])


def test_an_edited_measurement_is_marked(tmp_path):
    simulated, repeat = rows(tmp_path / "sim", [1.0] * 100), rows(tmp_path / "0", [1.0] * 100)
    for edited in (False, True):
        found = compare("w", "p", simulated, [simulated], [repeat])
        write_comparison(found, about([repeat]), tmp_path / "out", "first")
        assert {row["edited"] for row in found} == {f"requests.parquet of {repeat}" if edited else ""}
        assert edited_lines(tmp_path / "out/first.json") == [f"requests.parquet of {repeat}"] * edited
        assert ("| p (edited) |" in (tmp_path / "out/first.md").read_text(encoding="utf-8")) is edited
        path = repeat / "requests.parquet"
        table = pq.read_table(path)
        pq.write_table(table.set_column(0, table.schema.field(0), table.column(0)), path, compression="none")

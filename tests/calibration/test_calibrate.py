import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairway.calibration import (
    Calibration,
    FloodCalibration,
    PhasedCalibration,
    build_trace,
    calibrate,
    read_calibration,
    write_calibration,
)
from fairway.calibration.fcfs import fcfs_on
from fairway.calibration.phased import median_ttft_ns
from fairway.calibration.seeds import ReplacedSeed
from fairway.engine import Limits
from fairway.errors import InputError
from fairway.files import sealed, write_json
from fairway.profile import Profile
from fairway.traces import read_trace, write_trace
from fairway.traces.corpus import Corpus, make_corpus
from fairway.traces.workload import FloodWorkload, PhasedWorkload

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def dynamic_calibration(dynamic: PhasedWorkload, corpus: Corpus, profile: Profile, limits: Limits) -> PhasedCalibration:
    found = calibrate(dynamic, 2, corpus, profile, limits)
    assert isinstance(found, PhasedCalibration)
    return found


@pytest.fixture(scope="module")
def flood_calibration(flood: FloodWorkload, corpus: Corpus, profile: Profile, limits: Limits) -> FloodCalibration:
    found = calibrate(flood, 2, corpus, profile, limits)
    assert isinstance(found, FloodCalibration)
    return found


def test_the_built_trace_is_the_one_that_calibration_ended_on(
    dynamic: PhasedWorkload,
    corpus: Corpus,
    profile: Profile,
    limits: Limits,
    dynamic_calibration: PhasedCalibration,
    tmp_path: Path,
) -> None:
    write_trace(build_trace(dynamic, corpus, dynamic_calibration), tmp_path / "2.jsonl")
    trace = read_trace(tmp_path / "2.jsonl")
    result = fcfs_on(profile, limits)(trace, dynamic_calibration.cache_blocks)
    assert median_ttft_ns(trace, result, "spike") / 1e9 == dynamic_calibration.fcfs_median_s
    assert abs(dynamic_calibration.fcfs_median_s - 5.5) <= 0.05
    assert 1.0 <= dynamic_calibration.calibrated_load <= 4.0
    assert not result.refused.any()
    assert set(trace.kind) == {"usual", "fewer", "deeper"}


def test_the_header_says_where_a_trace_comes_from(
    dynamic: PhasedWorkload, corpus: Corpus, dynamic_calibration: PhasedCalibration
) -> None:
    trace = build_trace(dynamic, corpus, dynamic_calibration)
    header = trace.header
    assert (header["workload"], header["seed"], header["seed_replacements"]) == ("sec-dynamic-a", 2, 0)
    assert (header["corpus_kind"], header["corpus_sha256"]) == ("embedded", corpus.sha256())
    assert header["parameters"]["cache_blocks"] == dynamic_calibration.cache_blocks
    assert header["parameters"]["profile_evidence"] == "modelled"
    phases = header["parameters"]["phases"]
    assert [phase["name"] for phase in phases] == ["warm-up", "steady", "burst", "gap", "spike", "recovery"]
    assert (phases[4]["start_ns"], phases[4]["end_ns"]) == (240 * 10**9, 300 * 10**9)
    for phase in phases:
        inside = (trace.arrival_ns >= phase["start_ns"]) & (trace.arrival_ns < phase["end_ns"])
        assert [name == phase["name"] for name in trace.phase] == inside.tolist()


def test_the_flood_s_trace_has_the_hits_that_were_calibrated(
    flood: FloodWorkload, corpus: Corpus, flood_calibration: FloodCalibration
) -> None:
    trace = build_trace(flood, corpus, flood_calibration)
    assert {kind: trace.kind.count(kind) for kind in ("warm", "miss", "hit")} == {
        "warm": 8,
        "miss": 42,
        "hit": flood_calibration.hits,
    }
    hit_times_ns = trace.arrival_ns[np.array(trace.kind) == "hit"]
    assert hit_times_ns.min() >= 35 * 10**9
    assert hit_times_ns.max() < 155 * 10**9
    assert trace.header["parameters"]["cache_blocks"] == 12_970
    assert flood_calibration.warm_end_s < 30


def test_reading_gives_back_what_was_written(
    tmp_path: Path, dynamic_calibration: PhasedCalibration, flood_calibration: FloodCalibration
) -> None:
    replaced = (ReplacedSeed(2, "FCFS's median is 6.000 s already at the lowest load 1.0"),)
    for number, calibration in enumerate((dynamic_calibration, flood_calibration)):
        path = tmp_path / f"{number}.json"
        write_calibration(calibration, path)
        assert read_calibration(path) == calibration
        fields = json.loads(path.read_text(encoding="utf-8"))
        fields["replaced"] = [{"seed": seed.seed, "reason": seed.reason} for seed in replaced]
        write_json(path, sealed(fields))
        assert read_calibration(path).replaced == replaced


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda fields: fields.pop("seed"), "key 'seed' is missing"),
        (lambda fields: fields.update(cache_blocks="many"), "cache_blocks is 'many', not of type int"),
        (lambda fields: fields.update(replaced=[3]), "a mapping of keys is expected"),
        (lambda fields: fields.update(load=2.0), "unknown key 'load'"),
        (lambda fields: fields.update(family="other"), "not a calibration file"),
    ],
)
def test_a_broken_calibration_is_refused(
    tmp_path: Path, dynamic_calibration: Calibration, change: Any, problem: str
) -> None:
    path = tmp_path / "2.json"
    write_calibration(dynamic_calibration, path)
    fields = json.loads(path.read_text(encoding="utf-8"))
    change(fields)
    write_json(path, sealed(fields))
    with pytest.raises(InputError, match=problem):
        read_calibration(path)


def test_an_edited_calibration_is_refused(tmp_path: Path, flood_calibration: Calibration) -> None:
    path = tmp_path / "2.json"
    write_calibration(flood_calibration, path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"hits": ', '"hits": 1'), encoding="utf-8")
    with pytest.raises(InputError, match="was edited after it was written"):
        read_calibration(path)


@pytest.mark.parametrize("content", [None, b"\xff", b"{", b"[]"])
def test_what_is_no_calibration_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "2.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"cannot be read|not JSON|not a calibration file"):
        read_calibration(path)


def test_a_calibration_of_another_workload_or_corpus_is_refused(
    dynamic: PhasedWorkload, flood: FloodWorkload, corpus: Corpus, dynamic_calibration: PhasedCalibration
) -> None:
    for workload, other_corpus in ((flood, corpus), (dynamic, make_corpus(2))):
        with pytest.raises(InputError, match="does not belong"):
            build_trace(workload, other_corpus, dynamic_calibration)


def test_a_negative_seed_is_refused(dynamic: PhasedWorkload, corpus: Corpus, profile: Profile, limits: Limits) -> None:
    with pytest.raises(InputError, match="negative"):
        calibrate(dynamic, -1, corpus, profile, limits)


@pytest.mark.parametrize("workload", ["sec-dynamic-a", "sec-flood"])
@pytest.mark.slow  # the workflow tests compare the same bytes between two runs
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, workload: str) -> None:
    runs = [
        run_scripts(tmp_path / "a", workload, PYTHONHASHSEED="0", TZ="UTC", LC_ALL="C"),
        run_scripts(tmp_path / "b c", workload, PYTHONHASHSEED="1", TZ="Asia/Kathmandu", LC_ALL="C.UTF-8"),
    ]
    assert runs[0] == runs[1]
    traces = ["traces/5.header.json", "traces/5.jsonl", "traces/5.parquet", "traces/5.parquet.header.json"]
    assert sorted(runs[0]) == ["calibrations/5.json", "sec.json", *traces]
    assert str(tmp_path).encode() not in b"".join(runs[0].values())


def run_scripts(folder: Path, workload: str, **environment: str) -> dict[str, bytes]:
    folder.mkdir()
    file = str(ROOT / "config" / "workloads" / f"{workload}.yaml")
    profile = "a6000-llama-3.1-8b-modelled"
    places = ["--calibrations-dir", "calibrations", "--traces-dir", "traces"]
    commands = [
        ["build_corpus.py", "--seed", "1", "--out", "sec.json"],
        ["build_traces.py", "--workload", file, "--corpus", "sec.json", "--seeds", "5", "--profile", profile, *places],
    ]
    for script, *options in commands:
        subprocess.run(
            [sys.executable, str(ROOT / "scripts" / script), *options],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT / "src")} | environment,
            check=True,
            capture_output=True,
        )
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_bad_input_ends_with_status_2_and_no_output(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            str(ROOT / "scripts" / "build_traces.py"),
            *("--workload", str(ROOT / "config" / "workloads" / "sec-flood.yaml")),
            *("--corpus", "missing.json", "--seeds", "5", "--profile", "a6000-llama-3.1-8b-modelled"),
            *("--calibrations-dir", "calibrations", "--traces-dir", "traces"),
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: missing.json: the corpus cannot be read")
    assert list(tmp_path.iterdir()) == []

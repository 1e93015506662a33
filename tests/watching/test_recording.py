"""What is recorded is what was replayed: orders, ledgers, who passes whom, times to first token."""

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairway.errors import InputError
from fairway.exact.golden import FIVE_HITS_THEN_MISS
from fairway.files import sealed
from fairway.progress import Progress
from fairway.replay import Replay
from fairway.rows import order_statistic
from fairway.traces import Trace
from fairway.watching.page import read_recording
from fairway.watching.recording import record, write_recording
from fairway.watching.scenes import scene_of

from .conftest import POLICIES, PROFILE, SIZES, SPIKE_BEGINS_NS

PUBLIC_TRACE = '{"timestamp": 0, "input_length": 900, "output_length": 1, "hash_ids": [1, 2]}\n'


def run_of(document: dict[str, Any], policy: str) -> dict[str, Any]:
    return next(run for run in document["runs"] if run["policy"] == policy)


def test_the_worked_example_is_the_golden_one(example: dict[str, Any]) -> None:
    first = run_of(example, "fairway")["steps"][0]
    earlier = 1  # the request that leaves the prefix in the cache
    assert first["order"] == [earlier + position for position in FIVE_HITS_THEN_MISS]
    assert first["by_fast_lane"] == [1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1]
    assert first["fast_ledger"][:7] == [1200, 2400, 3600, 4800, 6000, 7200, 7200]
    assert first["fair_ledger"][:7] == [6000] * 6 + [12_000]
    assert [tokens for _, tokens in first["chunks"]] == [300] * 5 + [548]
    names = dict(zip(example["requests"]["id"], example["requests"]["name"], strict=True))
    assert [names[request] for request in first["order"]] == [*(f"H{n}" for n in range(1, 6)), "M"] + [
        f"H{n}" for n in range(6, 11)
    ]
    assert names[run_of(example, "lpm")["steps"][0]["order"][-1]] == "M"
    assert names[run_of(example, "fcfs")["steps"][0]["order"][0]] == "M"


@pytest.mark.parametrize("policy", POLICIES)
def test_recorded_starts_and_hits_are_those_of_the_replay(
    policy: str, spike: dict[str, Any], replays: dict[str, Replay]
) -> None:
    result = replays[policy]
    steps = run_of(spike, policy)["steps"]
    started = [(request, step["start_ns"], hit) for step in steps for request, hit, _ in step["admitted"]]
    begin_ns, end_ns = steps[0]["start_ns"], steps[-1]["start_ns"]
    expected = np.flatnonzero((result.start_ns >= begin_ns) & (result.start_ns <= end_ns))
    assert len(expected) > 50
    assert sorted(started) == [
        (request, int(result.start_ns[request]), int(result.hit_tokens[request])) for request in expected.tolist()
    ]


@pytest.mark.parametrize("policy", POLICIES)
def test_who_passes_whom_is_what_the_rows_say(
    policy: str, spike: dict[str, Any], replays: dict[str, Replay], trace: Trace
) -> None:
    start_ns = replays[policy].start_ns
    passed = 0
    for step in run_of(spike, policy)["steps"]:
        for request, _, count in step["admitted"]:
            assert count == int((start_ns[:request] > start_ns[request]).sum())  # by arrival: before it is older
            passed += count
    assert (passed == 0) == (policy == "fcfs")


@pytest.mark.parametrize("policy", POLICIES)
def test_waiting_requests_are_those_of_the_replay_s_hooks(
    policy: str, spike: dict[str, Any], replays: dict[str, Replay]
) -> None:
    hooks = replays[policy].hooks
    assert hooks is not None
    counts = dict(zip(hooks.now_ns.tolist(), hooks.waiting.tolist(), strict=True))
    steps = run_of(spike, policy)["steps"]
    assert [len(step["waiting"]) for step in steps] == [counts.get(step["start_ns"], 0) for step in steps]
    assert max(len(step["waiting"]) for step in steps) > 10


@pytest.mark.parametrize("policy", POLICIES)
def test_the_last_times_to_first_token_are_the_replay_s(
    policy: str, spike: dict[str, Any], replays: dict[str, Replay], trace: Trace
) -> None:
    counted = np.array([phase == "spike" for phase in trace.phase])
    ttft_ns = (replays[policy].first_token_ns - trace.arrival_ns)[counted]
    last = run_of(spike, policy)["steps"][-1]
    assert last["answered"] == len(ttft_ns) == spike["counted"]
    assert (last["p50_ns"], last["p99_ns"]) == (order_statistic(ttft_ns, 50), order_statistic(ttft_ns, 99))


def test_a_recording_begins_with_the_phase_and_ends_with_its_last_first_token(
    spike: dict[str, Any], replays: dict[str, Replay]
) -> None:
    assert spike["start_ns"] == SPIKE_BEGINS_NS
    assert spike["end_ns"] == max(int(result.first_token_ns.max()) for result in replays.values())


def test_the_same_inputs_give_the_same_bytes(trace_file: Path, spike: dict[str, Any], tmp_path: Path) -> None:
    again = record(scene_of(trace_file, "spike", PROFILE, **SIZES), POLICIES, Progress("again"))
    for name, document in (("one", spike), ("two", again)):
        write_recording(tmp_path / name, document)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_written_recording_reads_as_it_was(recordings: list[Path], spike: dict[str, Any]) -> None:
    assert read_recording(recordings[1]) == json.loads(json.dumps(spike))


def test_an_unknown_phase_is_named_with_the_known_ones(trace_file: Path) -> None:
    with pytest.raises(
        InputError, match=r"no request of phase 'flood' in the trace\. Remedy: choose from warm-up, spike"
    ):
        record(scene_of(trace_file, "flood", PROFILE, **SIZES), POLICIES, Progress("flood"))


def broken_in_the_middle(document: dict[str, Any]) -> str:
    document["runs"][0]["steps"][3]["waiting"] = "many"
    return json.dumps(sealed(document))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (lambda document: "{", "is no JSON"),
        (lambda document: "[1]", "is no recording"),
        (lambda document: json.dumps(sealed(document)).replace('"counted": 60', '"counted": 61'), "was edited"),
        (lambda document: json.dumps(sealed({**document, "format": 2})), "$.format: 1 was expected"),
        (broken_in_the_middle, "$.runs[0].steps[3].waiting: 'many' is not of type 'array'"),
    ],
)
def test_a_bad_recording_is_refused(text: Any, problem: str, spike: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text(copy.deepcopy(spike)), encoding="utf-8")
    with pytest.raises(InputError, match="Remedy: record it again") as refused:
        read_recording(file)
    assert str(refused.value).startswith(f"{file}: ") and problem in str(refused.value)


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        ("build_queue_page.py", ["--recordings", "trace.jsonl"], "trace.jsonl: is no recording"),
        ("record_queue.py", ["--trace", "none.jsonl"], "none.jsonl"),
        ("record_queue.py", ["--trace", "trace.jsonl"], "trace.jsonl: has no header that names cache_blocks"),
    ],
)
def test_bad_input_is_one_line_and_nothing_written(
    name: str, options: list[str], problem: str, tmp_path: Path, root: Path
) -> None:
    (tmp_path / "trace.jsonl").write_text(PUBLIC_TRACE, encoding="utf-8")
    more = ["--policies", *POLICIES, "--profile", PROFILE.name] if name == "record_queue.py" else []
    refused = subprocess.run(
        [sys.executable, root / "scripts" / name, *options, *more, "--out", "written"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert problem in refused.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["trace.jsonl"]

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.traces import Trace, read_trace, write_trace

ARRAYS = ("arrival_ns", "prompt_tokens", "output_tokens", "block_ids", "block_offsets")
FILE_FACTS = {"format_version", "time_unit", "block_tokens", "full_blocks_only", "requests", "sha256"}


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    block_tokens = draw(st.sampled_from([1, 16, 512]))
    lengths = draw(st.lists(st.integers(1, 100), min_size=1, max_size=6))
    counts = [-(-tokens // block_tokens) for tokens in lengths]
    us = sorted(draw(st.lists(st.integers(0, 2**63 // 10**3 // 2), min_size=len(lengths), max_size=len(lengths))))
    labels = st.lists(st.text(max_size=5), min_size=len(lengths), max_size=len(lengths)).map(tuple)
    largest = draw(st.sampled_from([3, 2**31 - 1, 2**31, 2**63 - 1]))
    ids = draw(st.lists(st.integers(0, largest), min_size=sum(counts), max_size=sum(counts)))
    return Trace(
        arrival_ns=np.array(us, dtype=np.int64) * 1000,
        prompt_tokens=np.array(lengths, dtype=np.int64),
        output_tokens=np.array(lengths, dtype=np.int64)[::-1].copy(),
        block_ids=np.array(ids, dtype=np.int64),
        block_offsets=np.cumsum([0, *counts], dtype=np.int64),
        block_tokens=block_tokens,
        kind=draw(labels),
        phase=draw(labels),
        header={"workload": "any", "seed": 3},
    )


def assert_same(one: Trace, other: Trace) -> None:
    for name in ARRAYS:
        mine, theirs = getattr(one, name), getattr(other, name)
        assert (mine.dtype, mine.tolist()) == (theirs.dtype, theirs.tolist()), name
    assert (one.block_tokens, one.kind, one.phase) == (other.block_tokens, other.kind, other.phase)
    assert without_facts(one) == without_facts(other)


def without_facts(trace: Trace) -> dict[str, Any]:
    return {name: value for name, value in trace.header.items() if name not in FILE_FACTS}


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@given(trace=traces())
def test_reading_gives_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, trace: Trace
) -> None:
    path = tmp_path_factory.mktemp("trip") / f"trace.{suffix}"
    write_trace(trace, path)
    again = read_trace(path)
    fits = int(trace.block_ids.max()) < 2**31
    assert_same(again, dataclasses.replace(trace, block_ids=trace.block_ids.astype(np.int32 if fits else np.int64)))
    first = path.read_bytes()
    write_trace(again, path)
    assert path.read_bytes() == first


@given(trace=traces())
def test_both_kinds_of_file_read_as_the_same_trace(tmp_path_factory: pytest.TempPathFactory, trace: Trace) -> None:
    folder = tmp_path_factory.mktemp("both")
    for suffix in ("jsonl", "parquet"):
        write_trace(trace, folder / f"trace.{suffix}")
    assert_same(read_trace(folder / "trace.jsonl"), read_trace(folder / "trace.parquet"))


def test_the_headers_of_both_kinds_lie_side_by_side(tmp_path: Path, make_trace: Callable[..., Trace]) -> None:
    for suffix in ("jsonl", "parquet"):
        write_trace(make_trace([(40, [0, 1, 2])], 16), tmp_path / f"3.{suffix}")
    assert sorted(path.name for path in tmp_path.glob("*.header.json")) == ["3.header.json", "3.parquet.header.json"]
    units = [
        json.loads((tmp_path / f"{name}header.json").read_text(encoding="utf-8"))["time_unit"]
        for name in ("3.", "3.parquet.")
    ]
    assert units == ["ms", "ns"]


def test_a_part_is_the_trace_of_some_requests(make_trace: Callable[..., Trace]) -> None:
    trace = make_trace([(40, [0, 1, 2]), (16, [0]), (20, [0, 3])], 16, kind=("a", "b", "c"))
    part = trace.part(1, 3)
    assert (part.prompt_tokens.tolist(), part.block_ids.tolist(), part.block_offsets.tolist(), part.kind) == (
        [16, 20],
        [0, 0, 3],
        [0, 1, 3],
        ("b", "c"),
    )
    assert trace.first(2).block_ids.tolist() == [0, 1, 2, 0]
    assert len(trace.part(1, 1)) == 0


def test_without_pyarrow_only_parquet_is_refused(tmp_path: Path, root: Path, make_trace: Callable[..., Trace]) -> None:
    write_trace(make_trace([(40, [0, 1, 2])], 16), tmp_path / "trace.jsonl")
    code = f"""
import sys, pathlib
sys.modules["pyarrow"] = None
from fairway.traces import read_trace
folder = pathlib.Path({str(tmp_path)!r})
assert len(read_trace(folder / "trace.jsonl")) == 1
read_trace(folder / "trace.parquet")
"""
    done = run_python(root, "-c", code)
    assert "InputError: traces in Parquet need pyarrow" in done.stderr


def test_a_converted_trace_is_the_same_trace(tmp_path: Path, root: Path, make_trace: Callable[..., Trace]) -> None:
    trace = make_trace([(40, [0, 1, 2]), (16, [0])], 16, kind=("hit", "miss"))
    write_trace(dataclasses.replace(trace, header={"workload": "any", "seed": 3}), tmp_path / "a.jsonl")
    for source, target in (("a.jsonl", "b.parquet"), ("b.parquet", "c.jsonl")):
        done = run_script(root, "convert_trace.py", "--trace", tmp_path / source, "--out", tmp_path / target)
        assert done.returncode == 0, done.stderr
    assert "2 requests over 0.000 s, all at once (times in ns)" in done.stdout
    assert (tmp_path / "c.jsonl").read_bytes() == (tmp_path / "a.jsonl").read_bytes()
    assert (tmp_path / "c.header.json").read_bytes() == (tmp_path / "a.header.json").read_bytes()


def test_a_replay_gives_the_same_rows_from_either_kind(
    tmp_path: Path, root: Path, make_trace: Callable[..., Trace]
) -> None:
    trace = make_trace([(40, [0, 1, 2]), (16, [0])], 16)
    for suffix in ("jsonl", "parquet"):
        write_trace(dataclasses.replace(trace, header={"workload": "any", "seed": 3}), tmp_path / f"a.{suffix}")
        arguments = ["--traces", tmp_path / f"a.{suffix}", "--policy", "lpm", "--out-dir", tmp_path / suffix]
        profile = ["--profile", "a6000-llama-3.1-8b-modelled", "--cache-blocks", "50"]
        done = run_script(root, "replay.py", *arguments, *profile)
        assert done.returncode == 0, done.stderr
    for name in ("requests", "hooks"):
        one, other = ((tmp_path / suffix / f"{name}.parquet").read_bytes() for suffix in ("jsonl", "parquet"))
        assert one == other


def run_script(root: Path, name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return run_python(root, root / "scripts" / name, *arguments)


def run_python(root: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )

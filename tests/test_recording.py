"""Rows of replays: complete, labelled, and written only as a whole."""

import dataclasses
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from fairway.engine import Limits
from fairway.errors import InputError
from fairway.exact import miss_before_ten_hits, queue
from fairway.experiment import Experiment, run_experiment
from fairway.files import without_seal, write_json
from fairway.hooks import HookRecorder
from fairway.policies import Policy, make_policy
from fairway.profile import load_profile
from fairway.replay import replay
from fairway.traces import Trace, read_trace, write_trace

PROFILE = load_profile("a6000-llama-3.1-8b-modelled")


def small_trace(seed=1, requests=30, cache_blocks=200, workload="small") -> Trace:
    rng = np.random.Generator(np.random.PCG64(seed))
    lengths = rng.integers(17, 900, requests)
    runs = [[*range(100 * int(rng.integers(0, 3)), 10_000)][: -(-int(n) // 16)] for n in lengths]
    parameters = {"cache_blocks": cache_blocks} if cache_blocks else {}
    return Trace(
        arrival_ns=np.sort(rng.integers(0, 3_000, requests)) * 1_000_000,
        prompt_tokens=lengths,
        output_tokens=np.ones(requests, dtype=np.int64),
        block_ids=np.array([block for run in runs for block in run], dtype=np.int64),
        block_offsets=np.cumsum([0, *map(len, runs)]),
        block_tokens=16,
        kind=("usual",) * requests,
        phase=("steady",) * requests,
        header={
            "block_tokens": 16,
            "workload": workload,
            "seed": seed,
            "corpus_kind": "embedded",
            "seed_replacements": 0,
            "parameters": parameters,
        },
    )


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / f"{seed}.jsonl" for seed in (1, 2)]
    for seed, path in enumerate(paths, start=1):
        write_trace(small_trace(seed), path)
    return paths


def test_rows_say_what_the_replay_said(files, tmp_path):
    assert run_experiment(Experiment("fairway", PROFILE), files, tmp_path / "rows") == []
    requests = pq.read_table(tmp_path / "rows/requests.parquet").to_pylist()
    assert [(row["seed"], row["request"]) for row in requests] == [(s, r) for s in (1, 2) for r in range(30)]
    trace = read_trace(files[1])
    again = replay(trace, make_policy("fairway"), PROFILE, Limits(200))
    second = [row for row in requests if row["seed"] == 2]
    assert [row["first_token_ns"] for row in second] == again.first_token_ns.tolist()
    assert [row["hit_tokens"] for row in second] == again.hit_tokens.tolist()
    assert {row["outcome"] for row in requests} == {"served"}
    (first, _) = pq.read_table(tmp_path / "rows/runs.parquet").to_pylist()
    assert first["evidence"] == "simulated"
    assert first["profile_evidence"] == "modelled"
    assert (first["cache_blocks"], first["block_tokens"]) == (200, 16)
    assert first["left_out_requests"] is None
    assert (first["window"], first["reuse"]) == (None, "known")
    assert first["computed_tokens"] + first["hit_tokens"] == first["prompt_tokens"]


def test_a_variant_has_its_own_name_and_a_window_and_unknown_reuse_are_kept(tmp_path):
    trace = small_trace()
    lost = {"left_out_requests": 3, "left_out_tokens": 60, "trace_requests": 10, "trace_tokens": 100}
    window = {"window": 4, "windows": 5, "longest_prompt_tokens": 16, "timestamps": "quantised, raw", **lost}
    parameters = {**trace.header["parameters"], "requests": window}
    trace = dataclasses.replace(trace, header={**trace.header, "parameters": parameters, "reuse_information": False})
    write_trace(trace, tmp_path / "1.jsonl")
    experiment = Experiment("fairway", PROFILE, parameters={"fast_weight": 2}, name="fairway-weight-2")
    run_experiment(experiment, [tmp_path / "1.jsonl"], tmp_path / "rows")
    (run,) = pq.read_table(tmp_path / "rows/runs.parquet").to_pylist()
    assert (run["policy"], run["window"], run["reuse"]) == ("fairway-weight-2", 4, "unknown")
    assert (run["left_out_requests"], run["of_requests"], run["left_out_tokens"], run["of_tokens"]) == (3, 10, 60, 100)
    assert run["left_out"] == "prompts above 16 tokens"


WINDOW = {
    **{"window": 4, "trace_requests": 90, "trace_tokens": 9000, "left_out_requests": 7, "left_out_tokens": 5000},
    "longest_prompt_tokens": 16,
}
VERDICTS = {
    "excluded: empty prompt": {"requests": 2, "prompt_tokens": 0},
    "excluded: too long": {"requests": 5, "prompt_tokens": 5000},
    "served": {"requests": 80, "prompt_tokens": 3500},
    "truncated: output cut": {"requests": 3, "prompt_tokens": 500},
}


@pytest.mark.parametrize(
    "header",
    [{"parameters": {"cache_blocks": 200, "requests": WINDOW}}, {"screening": {"counts": VERDICTS}}],
    ids=["window", "screening"],
)
def test_rows_say_what_was_left_out_of_a_recorded_trace(tmp_path, header):
    trace = small_trace()
    write_trace(dataclasses.replace(trace, header={**trace.header, **header}), tmp_path / "1.jsonl")
    run_experiment(Experiment("fcfs", PROFILE), [tmp_path / "1.jsonl"], tmp_path / "rows")
    (run,) = pq.read_table(tmp_path / "rows/runs.parquet").to_pylist()
    names = ("of_requests", "of_tokens", "left_out_requests", "left_out_tokens")
    assert [run[name] for name in names] == [90, 9000, 7, 5000]


@pytest.mark.parametrize(
    "header",
    [
        {"screening": 3},
        {"screening": {"counts": [1]}},
        {"screening": {"counts": {"excluded": 3}}},
        {"parameters": {"cache_blocks": 200, "requests": {"left_out_requests": 3}}},
    ],
)
def test_a_header_that_says_otherwise_what_was_left_out_is_refused(tmp_path, header):
    trace = small_trace()
    write_trace(dataclasses.replace(trace, header={**trace.header, **header}), tmp_path / "1.jsonl")
    with pytest.raises(InputError, match="does not say rightly what was left out"):
        run_experiment(Experiment("fcfs", PROFILE), [tmp_path / "1.jsonl"], tmp_path / "rows")


def test_rows_of_another_eviction_bear_its_name(files, tmp_path):
    evicted = {}
    for eviction in ("lru", "pgdsf"):
        experiment = Experiment("ragcache", PROFILE, eviction=eviction, cache_blocks=80)
        run_experiment(experiment, files, tmp_path / eviction)
        runs = pq.read_table(tmp_path / eviction / "runs.parquet").to_pylist()
        evicted[runs[0]["policy"]] = [run["evicted_blocks"] for run in runs]
    assert list(evicted) == ["ragcache", "ragcache+pgdsf"]
    assert evicted["ragcache"] != evicted["ragcache+pgdsf"]


def test_a_refused_request_is_a_row_without_times(tmp_path):
    path = tmp_path / "1.jsonl"
    write_trace(small_trace(cache_blocks=30), path)
    refusals = run_experiment(Experiment("lpm", PROFILE), [path], tmp_path / "rows")
    rows = pq.read_table(tmp_path / "rows/requests.parquet").to_pylist()
    refused = [row for row in rows if row["outcome"] == "unservable"]
    assert len(refused) == len(refusals) > 0
    assert all(row["first_token_ns"] is None and row["prompt_tokens"] > 29 * 16 for row in refused)
    assert pq.read_table(tmp_path / "rows/runs.parquet").to_pylist()[0]["refused"] == len(refused)


def test_a_trace_without_a_cache_size_needs_one(tmp_path):
    path = tmp_path / "1.jsonl"
    write_trace(small_trace(cache_blocks=None), path)
    with pytest.raises(InputError, match="give --cache-blocks"):
        run_experiment(Experiment("lpm", PROFILE), [path], tmp_path / "rows")
    run_experiment(dataclasses.replace(Experiment("lpm", PROFILE), cache_blocks=100), [path], tmp_path / "rows")
    assert pq.read_table(tmp_path / "rows/runs.parquet").to_pylist()[0]["cache_blocks"] == 100


def test_nothing_is_written_if_the_second_trace_is_broken(files, tmp_path):
    text = files[1].read_text(encoding="utf-8")
    files[1].write_text(text[:-9], encoding="utf-8")
    with pytest.raises(InputError):
        run_experiment(Experiment("fcfs", PROFILE), files, tmp_path / "rows")
    assert not (tmp_path / "rows").exists()


@pytest.mark.parametrize(
    "experiment", [{"policy": "nobody"}, {"policy": "fcfs", "backend": "gpu"}, {"policy": "fcfs", "eviction": "fifo"}]
)
def test_unknown_names_are_refused_before_anything_runs(experiment):
    with pytest.raises(InputError, match="unknown"):
        Experiment(profile=PROFILE, **experiment)


def test_a_hook_row_worked_by_hand():
    hooks = HookRecorder()
    hooks(7, miss_before_ten_hits(), make_policy("lpm"))
    columns = {name: values[0] for name, values in vars(hooks.hooks()).items()}
    assert (columns["step"], columns["waiting"]) == (7, 11)
    assert (columns["uncached_min"], columns["uncached_p5"], columns["uncached_p50"]) == (300, 300, 300)
    assert (columns["uncached_p95"], columns["uncached_max"]) == (6000, 6000)
    assert columns["lpm_correlation"] == 1.0
    # the oldest goes from place 0 to 10, the others move up one: 1 - 6 (100 + 10) / (11 * 120)
    assert columns["arrival_correlation"] == 0.5


def test_arrival_order_correlates_fully_with_arrival():
    hooks = HookRecorder()
    hooks(0, miss_before_ten_hits(), make_policy("fcfs"))
    hooks(1, queue([0, 16], [5, 5]), make_policy("fcfs"))
    assert hooks.hooks().arrival_correlation == [1.0, None], "two requests say nothing"


def test_an_order_that_leaves_requests_out_has_no_correlation():
    class Half(Policy):
        def order(self, view):
            return iter(range(len(view) // 2))

    hooks = HookRecorder()
    hooks(0, miss_before_ten_hits(), Half())
    assert hooks.hooks().lpm_correlation == [None]


def test_two_traces_of_one_seed_are_refused(files, tmp_path):
    with pytest.raises(InputError, match=r"2\.jsonl: has seed 2"):
        run_experiment(Experiment("fcfs", PROFILE), [files[1], files[1]], tmp_path / "rows")
    assert not (tmp_path / "rows").exists()


def test_two_workloads_are_refused(files, tmp_path):
    write_trace(small_trace(3, workload="other"), tmp_path / "3.jsonl")
    with pytest.raises(InputError, match="is of workload 'other', another trace of 'small'"):
        run_experiment(Experiment("fcfs", PROFILE), [files[0], tmp_path / "3.jsonl"], tmp_path / "rows")


def test_traces_without_headers_are_told_apart_by_their_place(files, tmp_path):
    for file in files:
        file.with_name(f"{file.stem}.header.json").unlink()
    text = '{"timestamp": 0, "input_length": 600, "output_length": 1, "hash_ids": [1, 2]}\n'
    for file in files:
        file.write_text(text, encoding="utf-8")
    experiment = dataclasses.replace(Experiment("fcfs", PROFILE), cache_blocks=100)
    remarks = run_experiment(experiment, files, tmp_path / "rows")
    assert remarks == [f"{file}: 1 requests over 0.000 s, all at once (times in ms)" for file in files]
    assert pq.read_table(tmp_path / "rows/requests.parquet").column("seed").to_pylist() == [0, 1]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("parameters", []),
        ("parameters", {"cache_blocks": "9"}),
        ("parameters", {"requests": 3}),
        ("parameters", {"requests": {"window": "4"}}),
        ("seed", "abc"),
        ("seed", 10**30),
        ("seed_replacements", None),
    ],
)
def test_a_header_with_a_value_of_the_wrong_kind_is_refused(files, tmp_path, field, value):
    path = files[0].with_name("1.header.json")
    header = without_seal(json.loads(path.read_text(encoding="utf-8")))
    write_json(path, {**header, field: value})
    with pytest.raises(InputError, match=r"1\.header\.json"):
        run_experiment(Experiment("fcfs", PROFILE), files[:1], tmp_path / "rows")


def test_an_edited_header_is_refused(files, tmp_path):
    path = files[0].with_name("1.header.json")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"cache_blocks": 200', '"cache_blocks": 100'), encoding="utf-8")
    with pytest.raises(InputError, match="was edited after it was written"):
        run_experiment(Experiment("fcfs", PROFILE), files[:1], tmp_path / "rows")

"""vLLM's own benchmark reads our traces unchanged: its data set `timed_trace`, with our block size and unit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairway.traces import Trace, read_trace, write_trace
from fairway.traces.corpus import make_corpus
from fairway.traces.phased import Sequences
from fairway.traces.statistics import hit_shares
from fairway.traces.workload import PhasedWorkload, load_workload

datasets = pytest.importorskip("vllm.benchmarks.datasets.datasets", reason="vLLM's benchmark is not installed")

BLOCK_TOKENS = 16


class AnyTokenizer:
    all_special_ids = (0,)

    def get_vocab(self) -> dict[str, int]:
        return {str(token): token for token in range(50_000)}


@pytest.fixture(scope="module")
def trace_file(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    workload = load_workload(root / "config/workloads/sec-short-0.9.yaml")
    assert isinstance(workload, PhasedWorkload)
    path = tmp_path_factory.mktemp("timed") / "1.jsonl"
    write_trace(Sequences(workload, make_corpus(1), 1).in_phases(0.8, None), path)
    return path


def sampled(path: Path, count: int) -> list[Any]:
    labels = {"timestamp": "timestamp", "input_length": "input_length", "output_length": "output_length"}
    options = {f"timed_trace_label_{name}": label for name, label in labels.items()}
    dataset = datasets.TimedTrace(
        dataset_path=str(path),
        random_seed=0,
        timed_trace_chunk_hash_size=BLOCK_TOKENS,
        timed_trace_sec_multiplier=0.001,
        timed_trace_label_hash_ids="hash_ids",
        **options,
    )
    return list(dataset.sample(AnyTokenizer(), count))


def of_prompts(prompts: list[list[int]]) -> Trace:
    """Return prompts as a trace whose blocks are numbered by their tokens."""
    numbers: dict[tuple[int, ...], int] = {}
    ids = []
    for prompt in prompts:
        ends = range(BLOCK_TOKENS, len(prompt) + BLOCK_TOKENS, BLOCK_TOKENS)
        ids.append([numbers.setdefault(tuple(prompt[:end]), len(numbers)) for end in ends])
    count = len(prompts)
    return Trace(
        arrival_ns=np.zeros(count, dtype=np.int64),
        prompt_tokens=np.array([len(prompt) for prompt in prompts], dtype=np.int64),
        output_tokens=np.ones(count, dtype=np.int64),
        block_ids=np.array([block for blocks in ids for block in blocks], dtype=np.int64),
        block_offsets=np.cumsum([0, *map(len, ids)], dtype=np.int64),
        block_tokens=BLOCK_TOKENS,
        kind=("",) * count,
        phase=("",) * count,
    )


def test_vllm_s_benchmark_replays_the_same_requests(trace_file: Path) -> None:
    trace = read_trace(trace_file)
    samples = sampled(trace_file, len(trace))
    assert len(samples) == len(trace) > 100
    assert [sample.prompt_len for sample in samples] == trace.prompt_tokens.tolist()
    assert [sample.expected_output_len for sample in samples] == trace.output_tokens.tolist()
    times_s = np.array([sample.timestamp for sample in samples])
    assert np.abs(times_s - trace.arrival_ns / 1e9).max() < 1e-6


def test_vllm_s_benchmark_shares_what_the_trace_shares(trace_file: Path) -> None:
    trace = read_trace(trace_file)
    theirs = of_prompts([sample.prompt for sample in sampled(trace_file, len(trace))])
    ours, by_tokens = hit_shares(trace), hit_shares(theirs)
    assert ours.tolist() == by_tokens.tolist()
    assert 0.2 < ours.mean() < 1

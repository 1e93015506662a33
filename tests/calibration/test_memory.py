"""Token ids are written as they are made: however many there are, few are held."""

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from fairway.calibration import PhasedCalibration, write_built_trace
from fairway.traces import token_file
from fairway.traces.corpus import Corpus
from fairway.traces.workload import PhasedWorkload

FEWER, MORE = 1.5, 9.0  # requests a second at load 1
MOST_HELD_BYTES = 12 * 1024**2  # a group of 64 prompts several times over
POOLS: list[pa.MemoryPool] = []  # pyarrow ends the process where one is gone before what it gave


@pytest.fixture
def calibration(dynamic: PhasedWorkload, corpus: Corpus) -> Callable[[float], PhasedCalibration]:
    """Give a calibration without any replay: the trace grows with its rate."""
    about = {"corpus_kind": corpus.kind, "corpus_sha256": corpus.sha256(), "profile": "p", "profile_evidence": "none"}
    sizes = {"budget_tokens": 2048, "max_num_seqs": 256, "block_tokens": 16, "cache_blocks": 1000, "reused_blocks": 1}
    spike = {"calibrated_phase": "spike", "calibrated_load": 1.0, "fcfs_median_s": 1.0, "iterations": 1}
    seeds = {"seed_asked": 1, "seed": 1, "replaced": ()}

    def at(rate_1_per_s: float) -> PhasedCalibration:
        return PhasedCalibration(dynamic.name, **seeds, **about, **sizes, rate_1_per_s=rate_1_per_s, **spike)

    return at


@pytest.fixture
def peak(
    dynamic: PhasedWorkload, corpus: Corpus, calibration: Callable[[float], PhasedCalibration]
) -> Iterator[Callable[..., int]]:
    """Measure the most bytes held at once, by Python, numpy and pyarrow, while a trace is built."""
    pool = pa.default_memory_pool()

    def measure(rate_1_per_s: float, tokens: Path | None) -> int:
        counted = pa.proxy_memory_pool(pool)
        POOLS.append(counted)
        pa.set_memory_pool(counted)
        tracemalloc.start()
        write_built_trace(dynamic, corpus, calibration(rate_1_per_s), [], tokens)
        held = tracemalloc.get_traced_memory()[1] + counted.max_memory()
        tracemalloc.stop()
        return held

    yield measure
    tracemalloc.stop()
    pa.set_memory_pool(pool)


def id_bytes(tokens: Path) -> int:
    return 4 * int(pc.sum(pc.list_value_length(pq.read_table(tokens)[token_file.COLUMN])).as_py())


def test_memory_for_token_ids_does_not_grow_with_the_trace(
    peak: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, many = tmp_path / "few.tokens.parquet", tmp_path / "many.tokens.parquet"
    peak(FEWER, few)  # whatever is imported or remembered the first time
    without = peak(MORE, None)
    added = [peak(FEWER, few) - peak(FEWER, None), peak(MORE, many) - without]
    assert id_bytes(many) > 5 * id_bytes(few)
    assert id_bytes(many) > 3 * MOST_HELD_BYTES
    assert max(added) < MOST_HELD_BYTES, added
    monkeypatch.setattr(token_file, "GROUP_PROMPTS", 10**9)
    assert peak(MORE, many) - without > id_bytes(many), "what is held is seen"

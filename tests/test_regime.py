from pathlib import Path

import numpy as np
import pytest

from fairway.errors import InputError
from fairway.regime import measure_regime
from fairway.rows import write_rows
from fairway.traces import Trace, write_trace

S = 1_000_000_000


def build(folder: Path, seed: int) -> Path:
    header = {
        "seed": seed,
        "parameters": {
            "calibration": {"rate_1_per_s": 2.0},
            "phases": [
                {"name": "steady", "start_ns": 0, "end_ns": 10 * S, "rate_per_s": 1.0},
                {"name": "spike", "start_ns": 10 * S, "end_ns": 20 * S, "rate_per_s": 2.0 + 2 * seed},
            ],
        },
    }
    one = np.ones(1, dtype=np.int64)
    trace = Trace(0 * one, one, one, 0 * one, np.array([0, 1]), 16, ("",), ("",), header)
    path = folder / f"{seed}.jsonl"
    write_trace(trace, path)
    return path


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    key = {"workload": "w", "policy": "fcfs"}
    requests = [  # seed, phase, prompt, hit (None: refused)
        *[
            (1, "steady", 1_000, 900),
            (1, "spike", 1_000, 500),
            (1, "spike", 1_000, 499),
            (2, "spike", 1_000, 1_000 - 16),
        ],
        (2, "spike", 9_999, None),
    ]
    hooks = [  # seed, now, waiting, p5, p95
        *[(1, 5 * S, 20, 1, 99), (1, 11 * S, 10, 100, 300), (1, 12 * S, 9, 1, 99), (1, 13 * S, 12, 0, 5)],
        *[(1, 20 * S, 12, 1, 99), (2, 19 * S, 12, 100, 400)],
    ]
    write_rows(
        tmp_path / "rows",
        {
            **{name: [value] * len(requests) for name, value in key.items()},
            "seed": [row[0] for row in requests],
            "request": list(range(len(requests))),
            "kind": [""] * len(requests),
            "phase": [row[1] for row in requests],
            "arrival_ns": [0] * len(requests),
            "start_ns": [None if row[3] is None else 0 for row in requests],
            "first_token_ns": [None if row[3] is None else 1 for row in requests],
            "prompt_tokens": [row[2] for row in requests],
            "hit_tokens": [row[3] for row in requests],
            "preemptions": [0] * len(requests),
            "outcome": ["served"] * len(requests),
        },
        {
            **{name: [value] * len(hooks) for name, value in key.items()},
            "seed": [row[0] for row in hooks],
            "step": list(range(len(hooks))),
            "now_ns": [row[1] for row in hooks],
            "waiting": [row[2] for row in hooks],
            "uncached_p5": [row[3] for row in hooks],
            "uncached_p95": [row[4] for row in hooks],
            **{f"uncached_{name}": [0] * len(hooks) for name in ("min", "p50", "max")},
            **{f"{name}_correlation": [None] * len(hooks) for name in ("arrival", "lpm")},
        },
        {
            **{name: [value] * 2 for name, value in key.items()},
            "seed": [1, 2],
            **{
                name: [0, 0]
                for name in (
                    *(
                        "cache_blocks",
                        "block_tokens",
                        "requests",
                        "refused",
                        "steps",
                        "busy_ns",
                        "end_ns",
                        "evicted_blocks",
                    ),
                    *("prompt_tokens", "hit_tokens", "computed_tokens", "extrapolated_tokens", "preemptions"),
                    "seed_replacements",
                )
            },
            "window": [None, None],
            **{f"{part}_{what}": [None] * 2 for part in ("left_out", "of") for what in ("requests", "tokens")},
            "left_out": ["", ""],
            **{
                name: ["", ""]
                for name in ("backend", "reuse", "evidence", "profile", "profile_evidence", "corpus", "trace_sha256")
            },
        },
    )
    return tmp_path / "rows"


def test_spread_load_and_hot_share_are_those_of_the_phase(tmp_path: Path, rows: Path) -> None:
    found = measure_regime(rows, [build(tmp_path, seed) for seed in (1, 2)], "spike")
    assert found.spread == 4  # of 3, 5 and 4: enough waiting, within the spike
    assert found.load == 2.5  # of 2 and 3
    assert found.hot_share == (500 + 16) / (500 + 501 + 16)


def test_a_phase_without_a_long_queue_has_no_spread(tmp_path: Path, rows: Path) -> None:
    assert measure_regime(rows, [build(tmp_path, 2)], "steady").spread is None


def test_what_is_not_there_is_refused(tmp_path: Path, rows: Path) -> None:
    with pytest.raises(InputError, match="no request was served in phase 'burst'"):
        measure_regime(rows, [build(tmp_path, 1)], "burst")
    with pytest.raises(InputError, match="no header with a calibrated rate"):
        measure_regime(rows, [tmp_path / "none.jsonl"], "spike")
    with pytest.raises(InputError, match="rows are missing"):
        measure_regime(tmp_path / "none", [build(tmp_path, 1)], "spike")

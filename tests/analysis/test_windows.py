"""Seeds that share a window of a recorded trace are one run to the bootstrap, and traces without reuse say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairway.analysis import metrics, wording
from fairway.analysis.bootstrap import Draws, Resampling, seed_counts
from fairway.analysis.metrics_table import metrics_document, metrics_markdown, metrics_rows
from fairway.analysis.results import read_result

RESAMPLING = Resampling(resamples=300, seed=5)
Write = Callable[..., Path]


@pytest.mark.parametrize("seeds", [1, 2, 3, 7])
def test_draws_of_seeds_are_those_of_the_plain_bootstrap(seeds: int) -> None:
    draws = Draws.of(range(10, 10 + seeds), RESAMPLING)
    assert (draws.distinct[draws.places] == seed_counts(seeds, RESAMPLING)).all()
    assert len(np.unique(draws.distinct, axis=0)) == len(draws.distinct) <= 301


def test_seeds_of_one_window_are_drawn_together() -> None:
    draws = Draws.of((7, 3, 7, 3, 7), RESAMPLING)
    counts = draws.distinct[draws.places]
    assert (counts[:, 0] == counts[:, 2]).all()
    assert (counts[:, 0] == counts[:, 4]).all()
    assert (counts[:, 1] == counts[:, 3]).all()
    assert (counts[:, 0] + counts[:, 1] == 2).all(), "two windows are drawn in each resample"
    assert (counts[0] == 1).all()
    assert {0, 2} <= set(counts[:, 0])


def test_a_quantity_is_computed_for_every_resample() -> None:
    draws = Draws.of(range(4), RESAMPLING)
    found = draws.apply(lambda counts: (counts * np.arange(4)).sum(axis=1).astype(np.float64))
    assert (found == (seed_counts(4, RESAMPLING) * np.arange(4)).sum(axis=1)).all()


@pytest.mark.parametrize(
    ("windows", "sample"),
    [
        ([None] * 5, "5 seeds"),
        ([0, 1, 2, 3, 4], "5 seeds"),
        ([0, 1, 2, 0, 1], "3 windows in 5 replays"),
        ([0, 0, 0, 0, 0], "1 window in 5 replays"),
    ],
)
def test_fewer_windows_than_seeds_are_said(
    windows: list[int | None], sample: str, write: Write, tmp_path: Path
) -> None:
    write(tmp_path, "w", "fcfs", of_runs={"window": windows})
    result = read_result(tmp_path, "w", "fcfs")
    assert result.sample == sample
    document = metrics_document(metrics_rows([result], RESAMPLING), RESAMPLING)
    assert f"\n\n{sample}, simulated" in metrics_markdown(document)


def test_a_request_that_was_replayed_several_times_is_counted_once(write: Write, tmp_path: Path) -> None:
    write(tmp_path, "w", "fcfs", of_runs={"window": [4, 4, 4, 4, 6]})
    result = read_result(tmp_path, "w", "fcfs")
    requests = pd.read_parquet(tmp_path / "w/fcfs/requests.parquet")
    requests["window"] = np.where(requests.seed == 5, 6, 4)
    counted, warm_up = requests[requests.phase != "warm-up"], requests[requests.phase == "warm-up"]
    rows = metrics_rows([result], RESAMPLING)
    for row in rows:
        chosen = counted if row.phase == "all" else counted[counted.phase == row.phase]
        if row.prompts != "all":
            chosen = chosen[(chosen.prompt_tokens <= 2048) == (row.prompts == "short")]
        if row.kind != "all":
            chosen = chosen[chosen.kind == row.kind]
        assert row.requests == len(chosen)
        assert row.distinct == len(chosen[["window", "request"]].drop_duplicates()) < row.requests
    page = metrics_markdown(metrics_document(rows, RESAMPLING))
    assert f"| all | fcfs | {wording.count(rows[0].requests, rows[0].distinct)} |" in page
    distinct = len(warm_up[["window", "request"]].drop_duplicates())
    assert f"Not counted: {len(warm_up):,} requests ({distinct:,} distinct) of the warm-up" in page


def test_windows_that_are_replayed_once_say_no_more(write: Write, tmp_path: Path) -> None:
    write(tmp_path, "w", "fcfs", of_runs={"window": [0, 1, 2, 3, 4]})
    rows = metrics_rows([read_result(tmp_path, "w", "fcfs")], RESAMPLING)
    assert {row.distinct for row in rows} == {None}
    assert "distinct" not in metrics_markdown(metrics_document(rows, RESAMPLING))


def test_windows_widen_the_interval(write: Write, tmp_path: Path) -> None:
    for name, windows in (("seeds", [None] * 5), ("windows", [0, 0, 0, 0, 1])):
        write(tmp_path / name, "w", "fcfs", of_runs={"window": windows})
    results = [read_result(tmp_path / name, "w", "fcfs") for name in ("seeds", "windows")]
    seeds, windows = (metrics_rows([result], RESAMPLING)[0] for result in results)
    assert windows.p50_s == seeds.p50_s
    alone = [
        float(np.percentile(part, 50, method="inverted_cdf")) / 1e9
        for part in metrics.TtftPool(results[1]).by_seed_ns[4:]
    ]
    assert alone[0] in (windows.p50_low_s, windows.p50_high_s), "a resample may hold the last window alone"


def test_without_reuse_information_hits_are_not_applicable(write: Write, tmp_path: Path) -> None:
    write(tmp_path, "w", "fcfs", hit_tokens=0, of_runs={"reuse": ["unknown"] * 5})
    rows = metrics_rows([read_result(tmp_path, "w", "fcfs")], RESAMPLING)
    assert {row.hit_rate for row in rows} == {None}
    assert {row.uncached_p95_over_p5 for row in rows} == {None}
    page = metrics_markdown(metrics_document(rows, RESAMPLING))
    assert page.count("| not applicable |") >= len(rows)
    assert "0.0% |" not in page.split("Whole runs")[0]


def test_extrapolated_tokens_are_shown(write: Write, tmp_path: Path) -> None:
    write(tmp_path, "w", "fcfs", of_runs={"computed_tokens": [1000] * 5, "extrapolated_tokens": [31] * 5})
    rows = metrics_rows([read_result(tmp_path, "w", "fcfs")], RESAMPLING)
    assert "3.1% of prefill tokens extrapolated" in metrics_markdown(metrics_document(rows, RESAMPLING))


def test_a_policy_that_starves_requests_is_marked(write: Write, tmp_path: Path) -> None:
    path = write(tmp_path, "w", "fcfs") / "requests.parquet"
    frame = pd.read_parquet(path)
    frame["first_token_ns"] = frame["arrival_ns"] + 10**9
    frame.loc[frame[frame.phase == "spike"].groupby("seed").head(1).index, "first_token_ns"] += 2_500_000_000
    frame.to_parquet(path)
    rows = metrics_rows([read_result(tmp_path, "w", "fcfs")], RESAMPLING)
    page = metrics_markdown(metrics_document(rows, RESAMPLING))
    assert "| spike | fcfs (edited) |" in page  # as it was, by hand
    for line in page.splitlines():
        if line.startswith("| spike | fcfs |"):
            assert "| 3.5 (3.5) starving |" in line
        if line.startswith("| steady | fcfs |"):
            assert "| 1 (1) |" in line

"""A single run: figures without intervals, and no verdict of better or worse."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from fairway.analysis.bootstrap import TIE, Resampling
from fairway.analysis.claims import read_claims
from fairway.analysis.collection import Wanted, collect
from fairway.analysis.comparison import comparison_document, comparison_markdown, comparison_rows
from fairway.analysis.metrics_table import metrics_document, metrics_rows, write_metrics
from fairway.analysis.results import read_result
from fairway.analysis.study import Study

CLAIMS = read_claims(Path(__file__).parents[2] / "paper" / "claims.yaml")
RESAMPLING = Resampling(resamples=50, seed=2)
Write = Callable[..., Path]


def test_one_seed_has_no_interval(write: Write, tmp_path: Path) -> None:
    write(tmp_path, "w", "fcfs", seeds=1)
    rows = metrics_rows([read_result(tmp_path, "w", "fcfs")], RESAMPLING)
    write_metrics(tmp_path / "out", metrics_document(rows, RESAMPLING))
    (first, *_) = json.loads((tmp_path / "out/metrics.json").read_text(encoding="utf-8"))["rows"]
    assert first["p50_s"] > 0
    assert {first[f"{name}_{side}_s"] for name in ("p50", "p99") for side in ("low", "high")} == {None}
    page = (tmp_path / "out/metrics.md").read_text(encoding="utf-8")
    assert "1 seed, simulated" in page
    assert "[" not in page


def test_one_seed_and_one_window_make_nothing_better_or_worse(write: Write, tmp_path: Path) -> None:
    for name, seeds, of_runs in (("seed", 1, {}), ("window", 3, {"window": [4, 4, 4]})):
        for policy in ("fcfs", "fairway"):
            write(tmp_path / name, "sec-dynamic-a", policy, seeds=seeds, of_runs=of_runs)
        wanted = Wanted(tmp_path / name, ("sec-dynamic-a",), ("fcfs", "fairway"))
        study = Study.of(collect(wanted), CLAIMS, RESAMPLING)
        rows = comparison_rows(study, "fairway")
        assert {(row.p50_verdict, row.p99_verdict, row.p99_low) for row in rows} == {(TIE, TIE, None)}
        assert rows[0].p99_ratio < 0.5
        assert "[" not in comparison_markdown(comparison_document(rows, study))
        better = study.functions("sec-dynamic-a")["better"]("fairway", than=("fcfs",))
        assert not better.any()

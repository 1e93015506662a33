"""Of PEEK only a description is public: every table and every figure calls ours PEEK-like."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from fairway.analysis import wording
from fairway.analysis.bootstrap import Resampling
from fairway.analysis.claims import read_claims
from fairway.analysis.collection import Wanted, collect
from fairway.analysis.comparison import comparison_document, comparison_markdown, comparison_rows
from fairway.analysis.figures import style
from fairway.analysis.metrics_table import metrics_document, metrics_markdown, metrics_rows
from fairway.analysis.regimes import Place, regime_rows, regimes_document, regimes_markdown
from fairway.analysis.study import Study
from fairway.analysis.tables import Document, write_table

RESAMPLING = Resampling(resamples=20, seed=1)
CLAIMS = read_claims(Path(__file__).parents[2] / "paper" / "claims.yaml")
POLICIES = ("fcfs", "peek", "fairway")


@pytest.fixture
def study(tmp_path: Path, write: Callable[..., Path]) -> Study:
    for policy in POLICIES:
        write(tmp_path / "rows", "sweep-01", policy)
    return Study.of(collect(Wanted(tmp_path / "rows", ("sweep-01",), POLICIES)), CLAIMS, RESAMPLING)


def metrics(study: Study) -> tuple[Document, str]:
    document = metrics_document(metrics_rows(study.collection.listed, RESAMPLING), RESAMPLING)
    return document, metrics_markdown(document)


def comparison(study: Study) -> tuple[Document, str]:
    document = comparison_document(comparison_rows(study, "fairway"), study)
    return document, comparison_markdown(document)


def regimes(study: Study) -> tuple[Document, str]:
    fast = {key: result for key, result in study.collection.results.items() if key[1] == "peek"}
    for result in fast.values():
        result.requests["first_token_ns"] = result.requests["arrival_ns"] + 1
    document = regimes_document(regime_rows(study, {"sweep-01": Place(9.0, 1.5, 0.5)}), study)
    return document, regimes_markdown(document)


@pytest.mark.parametrize("table", [metrics, comparison, regimes])
def test_pages_and_csv_say_so(table: Callable[[Study], tuple[Document, str]], study: Study, tmp_path: Path) -> None:
    document, page = table(study)
    write_table(tmp_path, "table", document, page)
    assert page.count("peek") == page.count("peek (PEEK-like)") > 0
    text = (tmp_path / "table.csv").read_text(encoding="utf-8")
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row if "peek" in cell.lower()]
    assert cells
    assert all("peek (PEEK-like)" in cell for cell in cells)


def test_what_is_missing_and_legends_say_so() -> None:
    assert wording.needs(["policy peek", "policy lpm"]) == "policies peek (PEEK-like), lpm"
    assert style.look("peek").label == "PEEK-like"
    assert style.look("peek+pgdsf").label == "peek+pgdsf (PEEK-like)"
    assert wording.policy("peekaboo") == "peekaboo"

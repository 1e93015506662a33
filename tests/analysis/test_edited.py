"""A result that was edited by hand is seen as such in every table that shows its numbers."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from fairway.analysis import comparison, metrics_table, regimes, sensitivity, variants
from fairway.analysis.bootstrap import Resampling
from fairway.analysis.causes import KnownCause
from fairway.analysis.claims import read_claims
from fairway.analysis.claims_table import claims_document, readers_table
from fairway.analysis.collection import Wanted, collect
from fairway.analysis.inputs import Expected, Group, gather
from fairway.analysis.regimes import Place
from fairway.analysis.study import Study
from fairway.analysis.tables import csv_of
from fairway.analysis.variants import Variant
from fairway.analysis.verdicts import UNHELD, answer_claims

CLAIMS = Path(__file__).parents[2] / "paper" / "claims.yaml"
RESAMPLING = Resampling(50)
POLICIES = ("fcfs", "lpm", "ragcache", "fairway")
EDITED = "EDITED after it was written"
WORKLOADS = ("sec-dynamic-a", "sec-flood")

Table = tuple[str, str]  # Markdown and CSV


@pytest.fixture
def edit(rows_root: Path) -> Callable[..., None]:
    """Multiply the TTFT of one policy's result."""

    def change(workload: str, policy: str, times: float = 1.5) -> None:
        path = rows_root / workload / policy / "requests.parquet"
        rows = pd.read_parquet(path)
        rows["first_token_ns"] = (rows.arrival_ns + times * (rows.first_token_ns - rows.arrival_ns)).astype("int64")
        rows.to_parquet(path)

    return change


def study(root: Path, *workloads: str, policies: tuple[str, ...] = POLICIES) -> Study:
    return Study.of(collect(Wanted(root, workloads, policies)), read_claims(CLAIMS), RESAMPLING)


def metrics(root: Path) -> Table:
    results = collect(Wanted(root, ("sec-flood",), POLICIES)).listed
    document = metrics_table.metrics_document(metrics_table.metrics_rows(results, RESAMPLING), RESAMPLING)
    return metrics_table.metrics_markdown(document), csv_of(document["rows"])


def compared(root: Path) -> Table:
    asked = study(root, "sec-flood")
    document = comparison.comparison_document(comparison.comparison_rows(asked, "fairway"), asked)
    return comparison.comparison_markdown(document), csv_of(document["rows"])


def mapped(root: Path) -> Table:
    asked = study(root, "sec-flood", "sec-dynamic-a")
    places = {name: Place(2.0, 1.2, 0.3) for name in ("sec-flood", "sec-dynamic-a")}
    document = regimes.regimes_document(regimes.regime_rows(asked, places), asked)
    return regimes.regimes_markdown(document), csv_of(document["rows"])


def test_metrics_mark_the_lines_of_an_edited_result(rows_root: Path, edit: Callable[..., None]) -> None:
    page, _ = metrics(rows_root)
    assert "edited" not in page.lower()
    edit("sec-flood", "lpm")
    page, csv = metrics(rows_root)
    marked = [line for line in page.splitlines() if "(edited)" in line]
    assert len(marked) == len([line for line in page.splitlines() if "| lpm" in line])
    assert all("| lpm (edited) |" in line for line in marked)
    assert f"simulated on a modelled profile; simulated on a modelled profile, {EDITED} (a6000)" in page
    assert [EDITED in line for line in csv.splitlines()] == [",lpm," in line for line in csv.splitlines()]


def test_a_comparison_marks_the_lines_that_rest_on_an_edited_result(rows_root: Path, edit: Callable[..., None]) -> None:
    page, _ = compared(rows_root)
    assert "edited" not in page.lower()
    edit("sec-flood", "lpm")
    page, csv = compared(rows_root)
    names = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")]
    assert [name for name in names if "(edited)" not in name and "---" not in name] == [
        "fairway over",
        "fcfs",
        "ragcache",
    ]
    assert "lpm (edited)" in names
    assert csv.count(EDITED) == 2  # lpm's line, and that of the best baseline, which is chosen among all
    edit("sec-flood", "fairway")
    assert compared(rows_root)[1].count(EDITED) == 4


def test_the_regime_map_marks_the_edited_configuration(rows_root: Path, edit: Callable[..., None]) -> None:
    assert "edited" not in mapped(rows_root)[0].lower()
    edit("sec-flood", "fcfs")
    page, csv = mapped(rows_root)
    assert "| sec-flood (edited) |" in page
    assert "| sec-dynamic-a |" in page
    assert csv.count(EDITED) == 1


def test_moved_parameters_are_marked_where_they_or_the_default_were_edited(
    rows_root: Path, edit: Callable[..., None], write: Callable[..., Path]
) -> None:
    moved = ("fairway-weight-2", "fairway-floor-2")
    for policy in ("fairway", *moved):
        write(rows_root, "sec-dynamic-a-tuning", policy, seeds=1)

    def page() -> str:
        asked = study(rows_root, "sec-dynamic-a-tuning", policies=("fairway", *moved))
        return sensitivity.sensitivity_markdown(sensitivity.sensitivity_document(sensitivity.sensitivity_rows(asked)))

    assert "edited" not in page().lower()
    edit("sec-dynamic-a-tuning", moved[0])
    assert (page().count("(edited)"), f"| {moved[0]} (edited) |" in page()) == (1, True)
    edit("sec-dynamic-a-tuning", "fairway")
    assert page().count("(edited)") == 3


def test_variants_name_what_was_edited(rows_root: Path, edit: Callable[..., None], write: Callable[..., Path]) -> None:
    asked = study(rows_root, "sec-flood")
    inputs = gather(Expected(rows_root, (Group(("sec-flood",), POLICIES, 5),), rows_root.parent / "exact.json"))
    answers = answer_claims(asked.claims.asking(["sec-flood"]), inputs, RESAMPLING)
    by_default = {"claims": [json.loads(json.dumps(dataclasses.asdict(answer))) for answer in answers]}

    def page() -> str:
        changed = Variant("changed", dict(study(rows_root, "sec-flood").collection.results))
        rows = variants.variant_rows(asked, [changed], by_default)
        latencies = variants.latency_rows(asked, [changed])
        return variants.variants_markdown(variants.variants_document(rows, latencies, [changed], asked))

    assert "edited" not in page().lower()
    edit("sec-flood", "lpm")
    assert f"{EDITED}: sec-flood/lpm (changed)." in page()
    assert "| `flood` (edited) |" in page()


def test_a_cause_is_left_out_where_the_claim_rests_on_an_edited_result(
    rows_root: Path, edit: Callable[..., None]
) -> None:
    claims = read_claims(CLAIMS)
    causes = [KnownCause(name, f"Why {name}.", "config/causes/x.yaml", "20 seeds", "simulated") for name in claims.ids]

    def table() -> tuple[set[str], str]:
        expected = Expected(rows_root, (Group(WORKLOADS, POLICIES, 5),), rows_root.parent / "exact.json")
        inputs = gather(expected)
        answers = answer_claims(claims, inputs, RESAMPLING)
        unheld = {answer.id for answer in answers if answer.verdict in UNHELD}
        return unheld, readers_table(claims_document(answers, inputs, expected, CLAIMS, RESAMPLING, causes))

    unheld, page = table()
    assert unheld
    assert {name for name in claims.ids if f"Why {name}." in page} == unheld
    for workload in WORKLOADS:
        edit(workload, "fairway", 1.01)
    unheld, page = table()
    assert unheld
    assert "Why " not in page

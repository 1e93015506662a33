"""What variants of workloads change, with planted changes."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairway.analysis.bootstrap import Resampling
from fairway.analysis.claims import read_claims
from fairway.analysis.claims_table import claims_document, read_document, write_claims
from fairway.analysis.collection import Wanted, collect
from fairway.analysis.inputs import Expected, Group, gather
from fairway.analysis.metrics_table import queue_spread
from fairway.analysis.results import read_result
from fairway.analysis.study import Study
from fairway.analysis.variants import (
    CHECKS,
    NOTHING,
    VERDICT,
    Variant,
    VariantRow,
    latency_rows,
    variant_rows,
    variants_document,
    variants_markdown,
)
from fairway.analysis.verdicts import DOES_NOT_HOLD, HOLDS, IN_PART, answer_claims
from fairway.analysis.wording import number
from fairway.errors import InputError

REPOSITORY = Path(__file__).parents[2]
RESAMPLING = Resampling(resamples=50, seed=1)
POLICIES = ("fcfs", "lpm", "fairway")
CLAIMS = """\
policies: [fcfs, lpm, fairway]
groups: {all_of_them: [fcfs, lpm, fairway]}
workload_sets: {both: [sec-dynamic-a, sec-flood], sweep: [sweep-01]}
default_phase: {both: spike, sweep: spike}
claims:
  - {id: faster, kind: ordering, workloads: [both], says: It is faster., shows: {p99_s: p99(fairway)},
     checks: [p99(fairway) <= p99(fcfs), p50(fairway) <= p50(fcfs)], sweep: true}
  - {id: of-the-flood, kind: ordering, workloads: [sec-flood], says: It is slower., checks: [p99(fairway) > p99(fcfs)]}
"""


@pytest.fixture
def study(rows_root: Path, tmp_path: Path) -> Study:
    (tmp_path / "claims.yaml").write_text(CLAIMS, encoding="utf-8")
    wanted = Wanted(rows_root, ("sec-dynamic-a", "sec-flood"), POLICIES)
    return Study.of(collect(wanted), read_claims(tmp_path / "claims.yaml"), RESAMPLING)


@pytest.fixture
def answers(study: Study, rows_root: Path, tmp_path: Path) -> dict[str, Any]:
    """The default answers, as their script writes them."""
    expected = Expected(rows_root, (Group(study.collection.workloads, POLICIES, 5),), tmp_path / "exact.json")
    inputs = dataclasses.replace(gather(expected), exact_absent="")
    found = answer_claims(study.claims, inputs, RESAMPLING)
    document = claims_document(found, inputs, expected, tmp_path / "claims.yaml", RESAMPLING)
    write_claims(tmp_path, document)
    return dict(read_document(tmp_path / "claims.json"))


def variant(root: Path, name: str, workload: str, policies: tuple[str, ...] = POLICIES) -> Variant:
    """Take ``<workload>--<name>`` in the workload's place."""
    results = [read_result(root, f"{workload}--{name}", policy) for policy in policies]
    return Variant(name, {(workload, one.policy): dataclasses.replace(one, workload=workload) for one in results})


def by_claim(rows: tuple[VariantRow, ...]) -> dict[str, VariantRow]:
    return {row.claim: row for row in rows}


def write_varied(write: Callable[..., Path], root: Path, workload: str, name: str, **of_fairway: Any) -> Variant:
    """Write a variant's results; ``of_fairway`` replaces columns of Fairway's."""
    for policy in POLICIES:
        write(root, f"{workload}--{name}", policy, **(of_fairway if policy == "fairway" else {}))
    return variant(root, name, workload)


def test_the_same_rows_change_nothing(study: Study, answers: dict[str, Any], rows_root: Path) -> None:
    same = Variant("same", {key: result for key, result in study.collection.results.items() if key[0] == "sec-flood"})
    rows = variant_rows(study, [same], answers)
    assert [(row.claim, row.workloads, row.changes) for row in rows] == [
        ("faster", "sec-flood", NOTHING),
        ("of-the-flood", "sec-flood", NOTHING),
    ]
    assert {row.checks for row in rows} == {""}
    assert all(row.default_p99_s == row.p99_s for row in latency_rows(study, [same]))


def test_a_slow_variant_takes_a_claim_away_and_says_by_which_check(
    study: Study, answers: dict[str, Any], rows_root: Path, write: Callable[..., Path]
) -> None:
    slow = write_varied(write, rows_root, "sec-dynamic-a", "slow", first_token_ns=10**15)
    (row,) = variant_rows(study, [slow], answers)
    assert (row.claim, row.workloads, row.default_verdict, row.verdict) == (
        "faster",
        "sec-dynamic-a",
        HOLDS,
        DOES_NOT_HOLD,
    )
    assert row.changes == VERDICT
    first, second = row.checks.split("; ")
    assert first.startswith("p99(fairway) <= p99(fcfs) [sec-dynamic-a]: ")
    assert second.startswith("p50(fairway) <= p50(fcfs) [sec-dynamic-a]: ")
    assert row.figures.startswith("p99 ")
    assert " -> " in row.figures
    slower = {row.policy: row.p99_s > row.default_p99_s for row in latency_rows(study, [slow])}
    assert slower["fairway"]


def test_a_check_may_change_and_the_verdict_not(study: Study, answers: dict[str, Any], rows_root: Path) -> None:
    in_part = {**answers, "claims": [dict(claim) for claim in answers["claims"]]}
    checks = [dict(check) for check in in_part["claims"][0]["checks"]]
    checks[0]["point"] = False
    in_part["claims"][0] |= {"checks": checks, "verdict": HOLDS}
    same = Variant("same", {key: result for key, result in study.collection.results.items() if key[0] == "sec-flood"})
    assert by_claim(variant_rows(study, [same], in_part))["faster"].changes == CHECKS
    in_part["claims"][0]["verdict"] = IN_PART
    assert by_claim(variant_rows(study, [same], in_part))["faster"].changes == VERDICT


def test_answers_of_another_claims_file_are_refused(study: Study, answers: dict[str, Any]) -> None:
    same = Variant("same", dict(study.collection.results))
    with pytest.raises(InputError, match="lack of-the-flood"):
        variant_rows(study, [same], {"claims": answers["claims"][:1]})


def test_the_page_shows_each_variant_with_what_it_does_not_count(
    study: Study, answers: dict[str, Any], rows_root: Path, write: Callable[..., Path]
) -> None:
    slow = write_varied(write, rows_root, "sec-dynamic-a", "slow", first_token_ns=10**15)
    rows, latencies = variant_rows(study, [slow], answers), latency_rows(study, [slow])
    page = variants_markdown(json.loads(json.dumps(variants_document(rows, latencies, [slow], study))))
    assert page.startswith("### slow\n\nClaims that ask varied workloads: 1; of them 1 with another verdict, ")
    assert "Not counted: " in page
    assert (
        "| `faster` | sec-dynamic-a | holds | **does not hold** | p99(fairway) <= p99(fcfs) [sec-dynamic-a]: " in page
    )
    assert "| sec-dynamic-a, spike | fairway | " in page


def test_a_variant_that_no_claim_asks_is_shown_with_what_it_rests_on(
    study: Study, answers: dict[str, Any], rows_root: Path, write: Callable[..., Path]
) -> None:
    asked = write_varied(write, rows_root, "sec-dynamic-a", "slow", first_token_ns=10**15)
    for policy in POLICIES:
        for name in ("recorded", "recorded--whole"):
            write(rows_root, name, policy, of_runs={"window": [0] * 5})
    whole = variant(rows_root, "whole", "recorded")
    collection = collect(Wanted(rows_root, (*study.collection.workloads, "recorded"), POLICIES))
    study = Study.of(collection, study.claims, RESAMPLING)
    rows, latencies = variant_rows(study, [asked, whole], answers), latency_rows(study, [asked, whole])
    page = variants_markdown(json.loads(json.dumps(variants_document(rows, latencies, [asked, whole], study))))
    _, _, section = page.partition("### whole\n\n")
    assert section.startswith("No claim asks its workloads: recorded ")
    assert "distinct); 1 window in 5 replays, " in section
    spread = queue_spread(whole.results["recorded", "fcfs"])
    assert spread is not None and f" Spread of uncached work under FCFS on recorded: {number(spread)}. Not" in section
    assert "| recorded, all after the warm-up | fairway | " in section


def test_the_script_reads_varied_rows_and_refuses_a_pair_that_is_none(
    study: Study, answers: dict[str, Any], rows_root: Path, tmp_path: Path, write: Callable[..., Path]
) -> None:
    write_varied(write, rows_root, "sec-flood", "slow", first_token_ns=10**15)

    def call(pair: str) -> subprocess.CompletedProcess[str]:
        workloads = ("--workloads", "sec-dynamic-a", "sec-flood", "--policies", *POLICIES)
        claims = ("--claims", tmp_path / "claims.yaml", "--answers", tmp_path / "claims.json", "--resamples", 50)
        command = (
            "--rows-root",
            rows_root,
            *workloads,
            *claims,
            "--variant",
            "slow",
            pair,
            "--out-dir",
            tmp_path / "out",
        )
        return subprocess.run(
            [sys.executable, REPOSITORY / "scripts/tabulate_variants.py", *map(str, command)],
            env={"PYTHONPATH": str(REPOSITORY / "src")},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )

    done = call("sec-flood=sec-flood--slow")
    assert done.returncode == 0, done.stderr
    table = json.loads((tmp_path / "out/variants.json").read_text(encoding="utf-8"))
    assert {row["claim"]: row["changes"] for row in table["rows"]} == {"faster": VERDICT, "of-the-flood": VERDICT}
    refused = call("sec-flood")
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: --variant slow sec-flood names no WORKLOAD=VARIED.")

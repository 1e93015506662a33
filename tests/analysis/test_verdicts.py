from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fairway.analysis.bootstrap import Resampling
from fairway.analysis.claims import read_claims
from fairway.analysis.inputs import Expected, Group, gather
from fairway.analysis.verdicts import (
    CANNOT_BE_ASKED,
    DOES_NOT_HOLD,
    HOLDS,
    IN_PART,
    MISSING,
    WITHOUT_VERDICT,
    Answer,
    answer_claims,
)
from fairway.errors import InputError
from fairway.files import write_sealed

RESAMPLING = Resampling(resamples=400, seed=1)
HEAD = """\
policies: [fcfs, lpm, ragcache, fairway, peek]
groups: {two: [fcfs, lpm], with_peek: [fcfs, peek]}
workload_sets: {both: [sec-dynamic-a, sec-flood], none: [elsewhere], sweep: [sec-dynamic-a, sec-flood]}
default_phase: {both: spike}
claims:
"""
Answers = Callable[..., Answer]


@pytest.fixture
def ask(rows_root: Path, tmp_path: Path) -> Answers:
    """Answer one claim about the made-up rows."""

    def answer(
        *checks: str, kind: str = "ordering", workloads: str = "[sec-dynamic-a]", exact: Any = None, more: str = ""
    ) -> Answer:
        listed = "".join(f"      - {json.dumps(check)}\n" for check in checks)
        head = f"  - id: asked\n    kind: {kind}\n    workloads: {workloads}\n    says: It is so.\n"
        (tmp_path / "claims.yaml").write_text(f"{HEAD}{head}{more}    checks:\n{listed}", encoding="utf-8")
        if exact is not None:
            write_sealed(tmp_path / "exact.json", exact)
        expected = Expected(
            rows_root,
            (Group(("sec-dynamic-a", "sec-flood"), ("fcfs", "lpm", "ragcache", "fairway"), 5),),
            tmp_path / "exact.json",
        )
        return answer_claims(read_claims(tmp_path / "claims.yaml"), gather(expected), RESAMPLING)[0]

    return answer


def test_a_claim_holds_if_its_checks_are_true_together_in_nearly_all_resamples(ask: Answers) -> None:
    answer = ask("p50(fairway) <= p50(fcfs)", "p99(fairway) <= p99(fcfs)", workloads="[both]")
    assert answer.verdict == HOLDS
    assert answer.indicative
    assert answer.evidence == "simulated on a modelled profile"
    assert [(check.workload, check.share) for check in answer.checks[:2]] == [("sec-dynamic-a", 1), ("sec-flood", 1)]
    assert answer.checks[0].left is not None
    assert answer.checks[0].right is not None
    assert answer.checks[0].left <= answer.checks[0].right


def test_some_true_checks_make_it_hold_in_part(ask: Answers) -> None:
    assert ask("p50(fairway) <= p50(fcfs)", "p50(fcfs) <= p50(fairway)").verdict == IN_PART


def test_no_true_check_makes_it_not_hold(ask: Answers) -> None:
    assert ask("p50(fcfs) <= p50(fairway)").verdict == DOES_NOT_HOLD


def test_a_check_has_to_be_true_on_every_workload(ask: Answers, write: Callable[..., Path], rows_root: Path) -> None:
    write(rows_root, "sec-flood", "fcfs", first_token_ns=10**15)
    answer = ask("p50(fcfs) <= 1000", workloads="[both]")
    assert answer.verdict == DOES_NOT_HOLD
    assert [check.point for check in answer.checks] == [True, False]


def test_true_at_the_point_but_not_in_nearly_all_resamples_is_in_part(ask: Answers) -> None:
    point = ask("p99(fcfs) >= 0").checks[0].left
    answer = ask(f"p99(fcfs) >= {point!r}")
    assert answer.checks[0].point
    assert answer.checks[0].share is not None
    assert answer.checks[0].share < 0.975
    assert answer.verdict == IN_PART


def test_what_is_not_configured_cannot_be_asked_but_is_shown_in_part(ask: Answers) -> None:
    answer = ask("p50(lpm) < p50(fcfs)", "max(p99(policy) for policy in with_peek) > 0", workloads="[both]")
    assert answer.verdict == CANNOT_BE_ASKED
    assert answer.missing == ("policy peek",)
    assert [check.point for check in answer.checks] == [True, True, None, None]
    assert ask("p50(lpm) > 0", workloads="[none]").missing == ("workload elsewhere",)


def test_a_phase_or_kind_that_does_not_occur_is_missing_not_false(ask: Answers) -> None:
    answer = ask('p50(lpm, phase="spke") > 0')
    assert answer.verdict == CANNOT_BE_ASKED
    assert answer.missing == ("data for p50 (spke) on sec-dynamic-a",)


def test_seconds_get_no_verdict_with_a_modelled_profile(ask: Answers) -> None:
    answer = ask("abs(p50(fairway) / 0.82 - 1) <= 0.25", kind="absolute")
    assert answer.verdict == WITHOUT_VERDICT
    assert answer.checks[0].left is not None


def test_exact_claims_rest_on_the_exact_checks(ask: Answers) -> None:
    def exact(*, holds: bool) -> Any:
        return {"asked": {"holds": holds, "detail": "all orders", "cases": 1000}}

    answer = ask('exact("asked")', kind="exact", workloads="[]", exact=exact(holds=True))
    assert (answer.verdict, answer.evidence, answer.detail, answer.cases) == (HOLDS, "exact", "all orders", 1000)
    assert not answer.indicative
    assert ask('exact("asked")', kind="exact", workloads="[]", exact=exact(holds=False)).verdict == DOES_NOT_HOLD
    assert ask('exact("other")', kind="exact", workloads="[]").missing == ("exact check other",)


def test_absent_exact_checks_are_missing(ask: Answers) -> None:
    answer = ask('exact("asked")', kind="exact", workloads="[]")
    assert (answer.verdict, answer.absent) == (MISSING, ("exact.json",))


def test_an_absent_result_is_missing_for_the_claims_that_use_it(ask: Answers, rows_root: Path) -> None:
    (rows_root / "sec-dynamic-a" / "lpm" / "requests.parquet").unlink()
    answer = ask("p50(lpm) <= p50(fcfs)")
    assert (answer.verdict, answer.absent) == (MISSING, ("sec-dynamic-a/lpm/requests.parquet",))
    assert ask("p50(fairway) <= p50(fcfs)").verdict == HOLDS


def test_too_few_seeds_are_missing(ask: Answers, write: Callable[..., Path], rows_root: Path) -> None:
    write(rows_root, "sec-dynamic-a", "lpm", seeds=4)
    answer = ask("p50(lpm) <= p50(fcfs)")
    assert (answer.verdict, answer.absent) == (MISSING, ("sec-dynamic-a/lpm: 1 of 5 seeds",))


def test_an_edited_result_flips_its_claims_and_says_how(ask: Answers, rows_root: Path) -> None:
    path = rows_root / "sec-dynamic-a" / "fairway" / "requests.parquet"
    frame = pd.read_parquet(path)
    frame["first_token_ns"] += 3600 * 10**9
    frame.to_parquet(path)
    answer = ask("p50(fairway) <= p50(fcfs)")
    assert answer.verdict == DOES_NOT_HOLD
    assert answer.edits[0].result == "sec-dynamic-a/fairway"
    assert answer.edits[0].files == ("requests.parquet",)
    spike = next(move for move in answer.edits[0].moved if move.name == "requests: ttft: spike, hit: p50_ns")
    assert spike.old is not None
    assert spike.new == spike.old + 3600 * 10**9
    assert not ask("p50(lpm) <= p50(fcfs)").edits


def test_policies_of_one_workload_need_the_same_seeds(
    ask: Answers, write: Callable[..., Path], rows_root: Path
) -> None:
    write(rows_root, "sec-dynamic-a", "lpm", seeds=6)
    with pytest.raises(InputError, match="different seeds"):
        ask("p50(lpm) <= p50(fcfs)")


def test_better_and_worse_are_decided_by_the_interval(ask: Answers) -> None:
    assert ask("better(fairway, than=two)").verdict == HOLDS
    assert ask("worse(fcfs, than=two)").verdict == HOLDS
    assert ask("not better(fcfs, than=two)").verdict == HOLDS
    assert ask("best(two) == 1").verdict == HOLDS


def test_a_sweep_counts_the_configurations_in_which_a_claim_is_true(ask: Answers) -> None:
    answer = ask("p50(fairway) <= p50(fcfs)", more="    sweep: true\n")
    assert answer.sweep.share == 1
    assert ask("p50(fairway) <= p50(fcfs)").sweep.share is None


def test_figures_stand_beside_the_papers_with_an_interval(ask: Answers) -> None:
    answer = ask("p50(fairway) > 0", more="    shows: {fairway_p50_s: p50(fairway)}\n")
    figure = answer.figures[0]
    assert figure.low is not None
    assert figure.high is not None
    assert figure.low <= figure.point <= figure.high


def test_a_baseline_that_starves_requests_is_not_the_best(ask: Answers, rows_root: Path) -> None:
    path = rows_root / "sec-dynamic-a" / "lpm" / "requests.parquet"
    frame = pd.read_parquet(path)
    frame["first_token_ns"] = frame["arrival_ns"] + 10**9
    frame.to_parquet(path)
    assert ask("best(two) == 1").verdict == HOLDS
    starved = frame[frame["phase"] == "spike"].groupby("seed").head(1).index
    frame.loc[starved, "first_token_ns"] += 10**10
    frame.to_parquet(path)
    assert ask("best(two) == 0").verdict == HOLDS
    assert ask("best_p99(two) == p99(fcfs)").verdict == HOLDS

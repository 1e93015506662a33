"""The sweep: who wins where, and in what share of configurations a claim holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from fairway.analysis.bootstrap import Resampling
from fairway.analysis.claims import read_claims
from fairway.analysis.claims_table import claims_document, claims_markdown
from fairway.analysis.collection import Wanted, collect
from fairway.analysis.inputs import Expected, Group, gather, parse_group
from fairway.analysis.regimes import read_places, regime_rows, regimes_document, regimes_markdown
from fairway.analysis.study import Study
from fairway.analysis.verdicts import answer_claims
from fairway.errors import InputError
from fairway.files import sealed, write_sealed

CLAIMS = Path(__file__).parents[2] / "paper" / "claims.yaml"
SWEEP = ("sweep-01", "sweep-02", "sweep-03")
POLICIES = ("fcfs", "lpm", "fairway")
Write = Callable[..., Path]
SMALL = """\
policies: [fcfs, lpm, fairway]
groups: {both: [fcfs, lpm]}
workload_sets: {sweep: [sweep-01, sweep-02, sweep-03], one: [sweep-01]}
default_phase: {sweep: spike}
claims:
  - id: faster
    kind: ordering
    workloads: [one]
    says: Fairway is faster.
    checks: [p50(fairway) < p50(fcfs), p99(fairway) < p99(fcfs)]
    sweep: true
"""


@pytest.fixture
def sweep_rows(write: Write, tmp_path: Path) -> Path:
    """Three configurations of three seeds, and their places on the map."""
    for number, workload in enumerate(SWEEP):
        for policy in POLICIES:
            write(tmp_path / "rows", workload, policy, seeds=3)
        place = {"spread": None if number == 2 else 20.0 * (number + 1), "load": 1.2, "hot_share": 0.25}
        (tmp_path / f"{workload}.json").write_text(json.dumps(sealed(place)), encoding="utf-8")
    return tmp_path / "rows"


def study(root: Path) -> Study:
    return Study.of(collect(Wanted(root, SWEEP, POLICIES)), read_claims(CLAIMS), Resampling(50))


def slow(root: Path, workload: str, policy: str, more_ns: int) -> None:
    path = root / workload / policy / "requests.parquet"
    frame = pd.read_parquet(path)
    frame["first_token_ns"] += more_ns
    frame.to_parquet(path)


def test_the_winner_is_the_policy_of_the_lowest_percentile(sweep_rows: Path) -> None:
    slow(sweep_rows, "sweep-01", "lpm", 3600 * 10**9)
    slow(sweep_rows, "sweep-02", "fairway", 3600 * 10**9)
    rows = regime_rows(study(sweep_rows), read_places(sweep_rows.parent, SWEEP))
    assert [(row.workload, row.spread) for row in rows] == [("sweep-01", 20.0), ("sweep-02", 40.0), ("sweep-03", None)]
    assert (rows[0].p99_winner, rows[0].p50_winner) == ("fairway", "fairway")
    assert (rows[1].p99_winner, rows[1].p50_winner) == ("lpm", "lpm")
    assert rows[1].fairway_p99_over_best_baseline is not None
    assert rows[1].fairway_p99_over_best_baseline > 1 > rows[0].fairway_p50_over_best_baseline
    page = regimes_markdown(regimes_document(rows, study(sweep_rows)))
    assert "3 configurations, spike, 3 seeds each" in page
    assert "Not counted: " in page
    assert "| sweep-03 | - | 1.2 | 25% |" in page
    assert sum(int(line.split("|")[2]) for line in page.splitlines()[4:7] if line.startswith(("| fair", "| lpm"))) == 3


def test_a_winner_of_the_tail_starves_nobody(sweep_rows: Path) -> None:
    for policy in POLICIES:
        path = sweep_rows / "sweep-01" / policy / "requests.parquet"
        frame = pd.read_parquet(path)
        frame["first_token_ns"] = frame["arrival_ns"] + 10**9 * (2 if policy == "fcfs" else 1)
        if policy != "fcfs":
            frame.loc[frame[frame.phase == "spike"].groupby("seed").head(1).index, "first_token_ns"] += 10**10
        frame.to_parquet(path)
    assert regime_rows(study(sweep_rows), read_places(sweep_rows.parent, SWEEP))[0].p99_winner == "fcfs"


BROKEN_PLACES = [
    "",
    "[]",
    '{"load": 1}',
    '{"spread": 1, "load": -1, "hot_share": 0.5}',
    '{"spread": 1, "load": 1, "hot_share": 1.5}',
    '{"spread": "x", "load": 1, "hot_share": 1}',
]


@pytest.mark.parametrize("text", BROKEN_PLACES)
def test_a_broken_place_is_refused_with_its_file(text: str, tmp_path: Path) -> None:
    (tmp_path / "sweep-01.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_places(tmp_path, ["sweep-01"])
    assert caught.value.file == tmp_path / "sweep-01.json"


@pytest.mark.parametrize("slowed", [(), ("sweep-02",), SWEEP])
def test_the_claims_table_shows_in_what_share_of_the_sweep_a_claim_is_true(
    slowed: tuple[str, ...], sweep_rows: Path, tmp_path: Path
) -> None:
    for workload in slowed:
        slow(sweep_rows, workload, "fairway", 3600 * 10**9)
    claims = tmp_path / "claims.yaml"
    claims.write_text(SMALL, encoding="utf-8")
    write_sealed(tmp_path / "exact.json", {})
    groups = (Group(SWEEP[:1], POLICIES, 3), Group(SWEEP[1:], POLICIES, 3))
    expected = Expected(sweep_rows, groups, tmp_path / "exact.json")
    inputs = gather(expected)
    answers = answer_claims(read_claims(claims), inputs, Resampling(50))
    true_in = 3 - len(slowed)
    assert answers[0].sweep.share == true_in / 3
    page = claims_markdown(claims_document(answers, inputs, expected, claims, Resampling(50)))
    assert f"| {100 * true_in / 3:.0f}% of 3 configurations |" in page


def test_an_incomplete_sweep_gives_no_share(sweep_rows: Path, tmp_path: Path) -> None:
    claims = tmp_path / "claims.yaml"
    claims.write_text(SMALL, encoding="utf-8")
    expected = Expected(sweep_rows, (Group(SWEEP[:2], POLICIES, 3),), tmp_path / "none.json")
    answer = answer_claims(read_claims(claims), gather(expected), Resampling(50))[0]
    assert answer.sweep.share is None
    assert answer.sweep.detail == "cannot be asked with these inputs"


def test_a_group_of_results_is_written_in_one_word() -> None:
    assert parse_group("a,b:fcfs,lpm:3") == Group(("a", "b"), ("fcfs", "lpm"), 3)
    for text in ("a,b", "a:fcfs", "a:fcfs:x", ":fcfs:1"):
        with pytest.raises(InputError, match="is no WORKLOAD"):
            parse_group(text)


def test_a_configuration_in_which_nothing_was_served_is_named(write: Write, sweep_rows: Path) -> None:
    write(sweep_rows, "sweep-01", "fairway", seeds=3, phase="steady")
    with pytest.raises(InputError, match=r"no request was served by fairway on sweep-01 \(spike\)"):
        regime_rows(study(sweep_rows), read_places(sweep_rows.parent, SWEEP))

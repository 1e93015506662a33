from __future__ import annotations

from pathlib import Path

import pytest

from fairway.analysis.bootstrap import Resampling
from fairway.analysis.claims import KINDS, read_claims
from fairway.analysis.expressions import COMBINATORS
from fairway.analysis.vocabulary import Vocabulary
from fairway.errors import InputError

CLAIMS = Path(__file__).parents[2] / "paper" / "claims.yaml"
SMALL = """\
policies: [fcfs, lpm, fairway-nofair]
groups: {baselines: [fcfs, lpm]}
workload_sets: {both: [a, b]}
default_phase: {both: spike}
claims:
  - id: faster
    kind: ordering
    workloads: [both]
    says: LPM is faster.
    checks:
      - p50(lpm) <= p50(fcfs)
      - expression: p99(lpm) <= p99(fcfs)
        workloads: [b]
      - max(p99(lpm, on=w) for w in workloads) <= 3
"""


def write(folder: Path, old: str = "", new: str = "") -> Path:
    path = folder / "claims.yaml"
    path.write_text(SMALL.replace(old, new), encoding="utf-8")
    return path


def test_the_artifacts_own_claims_can_be_read() -> None:
    claims = read_claims(CLAIMS).claims
    assert len(claims) == 19
    assert {claim.kind for claim in claims} == set(KINDS)


def test_every_function_is_described_in_the_head_of_the_file() -> None:
    head = CLAIMS.read_text(encoding="utf-8").split("\npolicies:")[0]
    file = read_claims(CLAIMS)
    vocabulary = Vocabulary(file.terms, {}, {}, Resampling(1), absent={}, exact_absent="")
    missing = [name for name in (*vocabulary.functions("sec-flood"), *COMBINATORS) if name not in head]
    assert not missing


def test_a_check_is_asked_on_the_claims_workloads_its_own_or_once(tmp_path: Path) -> None:
    checks = read_claims(write(tmp_path)).claims[0].checks
    assert [check.workloads for check in checks] == [("a", "b"), ("b",), ()]
    assert [check.line for check in checks] == [11, 12, 14]


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("p50(lpm)", "p51(lpm)", 11, "unknown function p51"),
        ("p50(lpm)", "p50(lmp)", 11, "unknown name lmp"),
        ("p50(lpm)", 'p50("lmp")', 11, "unknown policy lmp"),
        ("p50(lpm)", 'p50(lpm, fase="spike")', 11, "unknown argument fase"),
        ("p50(lpm)", 'p50(lpm, prompts="medium")', 11, "unknown prompts medium"),
        ("p50(lpm)", 'p50(lpm, on="c")', 11, "unknown workload c"),
        ("p50(lpm)", "best_p99(lpm)", 11, "not a group"),
        ("<= p50(fcfs)", "<=", 11, "not an expression"),
        ("p99(lpm, on=w)", "p99(lpm)", 14, "has to say on=workload"),
        ("kind: ordering", "kind: vague", 7, "vague"),
        ("workloads: [both]", "workloads: [neither]", 8, "unknown workload neither"),
        ("    says: LPM is faster.\n", "", 6, "'says' is a required property"),
        ("    says:", "    colour: red\n    says:", 6, "colour"),
        ("policies: [", "policies: {", 1, "not YAML"),
        ("groups: {baselines: [fcfs, lpm]}", "groups: 3", 2, "3 is not of type 'object'"),
    ],
)
def test_a_bad_claims_file_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, problem: str
) -> None:
    assert old in SMALL
    with pytest.raises(InputError) as caught:
        read_claims(write(tmp_path, old, new))
    assert problem in str(caught.value)
    assert caught.value.line == line


def test_claims_about_some_workloads_ask_no_others() -> None:
    file = read_claims(CLAIMS)
    asked = file.about(file.sets["dynamic"])
    assert [claim.id for claim in asked.claims] == [
        *("spike-latency", "spike-absolute", "six-targets", "spike-speedup", "no-cost-median", "adaptive-shift")
    ]
    assert [claim.id for claim in file.about(["sec-flood"]).claims] == ["flood", "flood-delayed-not-starved"]


def test_claims_can_be_asked_of_workloads_that_stand_in() -> None:
    file = read_claims(CLAIMS)
    asked = file.asked_of({"sec-dynamic-a": "small", "sec-dynamic-b": "small", "sec-flood": "wet"})
    by_id = {claim.id: claim for claim in asked.claims}
    assert {"spike-latency", "six-targets", "adaptive-shift", "flood", "overtaking-bound"} <= set(by_id)
    assert "spike-absolute" not in by_id, "its seconds are the paper's"
    assert "tail-vs-prefix-aware" not in by_id, "it asks fourteen workloads"
    assert by_id["six-targets"].workloads == ("small",)
    assert by_id["six-targets"].checks[0].workloads == ("small",)
    assert by_id["flood"].workloads == ("wet",)
    assert asked.terms.default_phase == {"small": "spike"}


def test_two_claims_with_one_name_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path)
    claim = SMALL.split("claims:\n")[1]
    path.write_text(SMALL + claim, encoding="utf-8")
    with pytest.raises(InputError, match="two claims called faster"):
        read_claims(path)


def test_a_missing_or_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_claims(tmp_path / "none.yaml")
    (tmp_path / "empty.yaml").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="an empty file"):
        read_claims(tmp_path / "empty.yaml")

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from fairway.analysis.bootstrap import Resampling
from fairway.analysis.claims import read_claims
from fairway.analysis.collection import Wanted, collect
from fairway.analysis.study import Study
from fairway.analysis.targets import Target, targets

CLAIMS = read_claims(Path(__file__).parents[2] / "paper" / "claims.yaml")


def ttft(root: Path, policy: str, phase: str) -> pd.Series:
    frame = pd.read_parquet(root / "sec-dynamic-a" / policy / "requests.parquet")
    return (frame.first_token_ns - frame.arrival_ns)[frame.phase == phase]


def test_targets_are_lpms_median_and_fcfs_p99_within_a_tenth(untouched_rows: Path) -> None:
    policies = ("fcfs", "lpm", "fairway")
    study = Study.of(collect(Wanted(untouched_rows, ("sec-dynamic-a",), policies)), CLAIMS, Resampling(1))
    found = targets(study)
    assert len(found) == 3 * 3 * 2
    for target in found:
        percent, reference = {"p50": (50, "lpm"), "p99": (99, "fcfs")}[target.percentile]
        here, aim = (
            np.percentile(ttft(untouched_rows, policy, target.phase), percent, method="inverted_cdf")
            for policy in (target.policy, reference)
        )
        assert target.ratio == (here / 1e9) / (aim / 1e9)
        assert target.is_met == (target.ratio <= 1.10)
    assert {target.is_met for target in found} == {True, False}


def test_a_tenth_above_is_met_and_no_more() -> None:
    assert Target("w", "lpm", "spike", "p50", 1.10).is_met
    assert not Target("w", "lpm", "spike", "p50", 1.11).is_met


def test_without_the_reference_there_is_no_target(untouched_rows: Path) -> None:
    study = Study.of(collect(Wanted(untouched_rows, ("sec-dynamic-a",), ("lpm", "fairway"))), CLAIMS, Resampling(1))
    assert {target.percentile for target in targets(study)} == {"p50"}

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairway.analysis.bootstrap import Resampling
from fairway.analysis.claims import read_claims
from fairway.analysis.collection import Wanted, collect
from fairway.analysis.sensitivity import sensitivity_document, sensitivity_markdown, sensitivity_rows
from fairway.analysis.study import Study
from fairway.errors import InputError

CLAIMS = read_claims(Path(__file__).parents[2] / "paper" / "claims.yaml")
TUNING = "sec-dynamic-a-tuning"
VARIANTS = ("fairway-weight-2", "fairway-floor-2")


def study(root: Path, *policies: str) -> Study:
    return Study.of(collect(Wanted(root, (TUNING,), policies)), CLAIMS, Resampling(50))


def test_ratios_are_those_of_the_spike_to_the_default(write: Callable[..., Path], tmp_path: Path) -> None:
    folders = {policy: write(tmp_path, TUNING, policy, seeds=1) for policy in ("fairway", *VARIANTS)}
    rows = sensitivity_rows(study(tmp_path, *folders))
    assert [row.policy for row in rows] == ["fairway", *VARIANTS]
    seconds = {}
    for policy, folder in folders.items():
        frame = pd.read_parquet(folder / "requests.parquet")
        ttft_s = (frame.first_token_ns - frame.arrival_ns)[frame.phase == "spike"] / 1e9
        seconds[policy] = [np.percentile(ttft_s, percent, method="inverted_cdf") for percent in (50, 99)]
    for row in rows:
        p50_s, p99_s = seconds[row.policy]
        assert (row.p50_s, row.p99_s) == (p50_s, p99_s)
        assert (row.p50_ratio, row.p99_ratio) == (p50_s / seconds["fairway"][0], p99_s / seconds["fairway"][1])
    page = sensitivity_markdown(sensitivity_document(rows))
    assert page.startswith("Spike of sec-dynamic-a-tuning: ")
    assert "1 seed, simulated" in page
    assert page.count("\n| fairway") == 3


def test_without_the_default_there_is_nothing_to_compare_with(write: Callable[..., Path], tmp_path: Path) -> None:
    write(tmp_path, TUNING, VARIANTS[0], seeds=1)
    with pytest.raises(InputError, match="no result of fairway on sec-dynamic-a-tuning"):
        sensitivity_rows(study(tmp_path, "fairway", *VARIANTS))


def test_a_phase_in_which_nothing_was_served_is_named(write: Callable[..., Path], tmp_path: Path) -> None:
    write(tmp_path, TUNING, "fairway", seeds=1, phase="steady")
    with pytest.raises(InputError, match=r"no request was served by fairway on sec-dynamic-a-tuning \(spike\)"):
        sensitivity_rows(study(tmp_path, "fairway"))

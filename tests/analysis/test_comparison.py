"""Comparisons of policies, against resampling by hand, and with planted differences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairway.analysis.bootstrap import Resampling, seed_counts
from fairway.analysis.claims import read_claims
from fairway.analysis.collection import Wanted, collect
from fairway.analysis.comparison import ComparisonRow, comparison_document, comparison_markdown, comparison_rows
from fairway.analysis.study import Study
from fairway.errors import InputError

CLAIMS = read_claims(Path(__file__).parents[2] / "paper" / "claims.yaml")
RESAMPLING = Resampling(resamples=100, seed=2)
POLICIES = ("fcfs", "lpm", "ragcache", "fairway")


def study(root: Path, *workloads: str, policies: tuple[str, ...] = POLICIES) -> Study:
    return Study.of(collect(Wanted(root, workloads, policies)), CLAIMS, RESAMPLING)


def row(rows: tuple[ComparisonRow, ...], other: str) -> ComparisonRow:
    return next(found for found in rows if found.other == other)


def spike_ttft(root: Path, policy: str) -> list[pd.Series]:
    frame = pd.read_parquet(root / "sec-dynamic-a" / policy / "requests.parquet")
    frame = frame[frame.phase == "spike"]
    ttft = frame.first_token_ns - frame.arrival_ns
    return [ttft[frame.seed == seed] for seed in sorted(frame.seed.unique())]


def test_ratios_and_intervals_equal_those_of_resampling_by_hand(rows_root: Path) -> None:
    found = row(comparison_rows(study(rows_root, "sec-dynamic-a"), "fairway"), "lpm")
    sides = [spike_ttft(rows_root, policy) for policy in ("fairway", "lpm")]
    ratios = []
    for counts in seed_counts(5, RESAMPLING):
        drawn = np.repeat(range(5), counts)
        pooled = [np.concatenate([side[seed] for seed in drawn]) for side in sides]
        first, second = (np.percentile(values, 99, method="inverted_cdf") / 1e9 for values in pooled)
        ratios.append(first / second)
    resampled = sorted(ratios[1:])
    assert (found.p99_ratio, found.p99_low, found.p99_high) == (ratios[0], resampled[2], resampled[97])
    assert found.phase == "spike"
    assert found.requests == sum(map(len, sides[0]))


def test_a_planted_slowdown_is_worse_and_a_copy_a_tie(rows_root: Path, write: Callable[..., Path]) -> None:
    write(rows_root, "sec-dynamic-a", "fairway", first_token_ns=10**15)
    rows = comparison_rows(study(rows_root, "sec-dynamic-a"), "fairway")
    assert {(found.p50_verdict, found.p99_verdict) for found in rows} == {("worse", "worse")}
    write(rows_root, "sec-dynamic-a", "lpm", first_token_ns=10**15)
    assert row(comparison_rows(study(rows_root, "sec-dynamic-a"), "fairway"), "lpm").p99_verdict == "tie"


def test_the_best_baseline_stands_below_the_others_and_starves_nobody(rows_root: Path) -> None:
    path = rows_root / "sec-dynamic-a" / "ragcache" / "requests.parquet"
    rows = comparison_rows(study(rows_root, "sec-dynamic-a"), "fairway")
    assert rows[-1].other == "best baseline (ragcache)"
    frame = pd.read_parquet(path)
    victims = frame[frame.phase == "spike"].groupby("seed").head(1).index
    frame.loc[victims, "first_token_ns"] += 10**12
    frame.to_parquet(path)
    rows = comparison_rows(study(rows_root, "sec-dynamic-a"), "fairway")
    assert rows[-1].other == "best baseline (lpm)"


def test_the_best_baseline_is_chosen_anew_in_each_resample(rows_root: Path) -> None:
    frame = pd.read_parquet(rows_root / "sec-dynamic-a" / "ragcache" / "requests.parquet")
    ttft_ns = (frame.first_token_ns - frame.arrival_ns) * np.where(frame.seed <= 3, 0.8, 1.5)
    lpm = pd.read_parquet(rows_root / "sec-dynamic-a" / "lpm" / "requests.parquet")
    lpm["first_token_ns"] = frame.arrival_ns + ttft_ns.astype(np.int64)
    lpm.to_parquet(rows_root / "sec-dynamic-a" / "lpm" / "requests.parquet")
    asked = study(rows_root, "sec-dynamic-a")
    best = comparison_rows(asked, "fairway")[-1]
    p99 = asked.functions("sec-dynamic-a")["p99"]
    lowest = np.minimum.reduce([p99("fcfs"), p99("lpm"), p99("ragcache")])
    ratios = p99("fairway") / lowest
    assert len({int(np.argmin(choice)) for choice in zip(p99("lpm"), p99("ragcache"), strict=True)}) == 2
    assert (best.p99_ratio, best.p99_low, best.p99_high) == (ratios[0], *np.sort(ratios[1:])[[2, 97]])


def test_the_page_has_a_section_a_workload_and_names_refusals(rows_root: Path) -> None:
    path = rows_root / "sec-flood" / "lpm" / "requests.parquet"
    frame = pd.read_parquet(path)
    frame["outcome"] = frame["outcome"].astype(str)
    frame.loc[frame[frame.phase == "spike"].index[-3:], "outcome"] = "unservable"
    frame.to_parquet(path)
    asked = study(rows_root, "sec-dynamic-a", "sec-flood", "sec-short-0.9")
    document = comparison_document(comparison_rows(asked, "fairway"), asked)
    assert document["missing"] == "workload sec-short-0.9"
    page = comparison_markdown(document)
    assert page.count("### ") == 2
    assert "0 and 3 |" in page
    assert "5 seeds, simulated on a modelled profile (a6000), embedded corpus" in page


def test_a_policy_of_an_outside_package_is_compared_too(rows_root: Path, write: Callable[..., Path]) -> None:
    write(rows_root, "sec-dynamic-a", "half-cached")
    found = comparison_rows(study(rows_root, "sec-dynamic-a", policies=("fairway", "half-cached")), "fairway")
    assert [one.other for one in found] == ["half-cached"], "no baseline is there, so there is no best one"


def test_without_any_result_there_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of the results that this needs: sec-flood under 4 policies"):
        collect(Wanted(tmp_path, ("sec-flood",), POLICIES))


def test_what_is_missing_is_named_by_workload_policy_and_pair(rows_root: Path, write: Callable[..., Path]) -> None:
    write(rows_root, "sec-flood", "peek")
    wanted = Wanted(rows_root, ("sec-dynamic-a", "sec-flood", "a"), ("fcfs", "peek", "preble"), ("b",), ("hrrn",))
    assert collect(wanted).missing() == "workloads a, b; policies preble, hrrn; result sec-dynamic-a/peek"

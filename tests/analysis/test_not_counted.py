"""What no figure counts stands beside every table of latencies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fairway.analysis.not_counted import not_counted
from fairway.analysis.results import read_result

Write = Callable[..., Path]
WINDOWS = {
    "window": [0, 1],
    "left_out_requests": [2731] * 2,
    "of_requests": [12031] * 2,
    "left_out_tokens": [63] * 2,
    "of_tokens": [100] * 2,
    "left_out": ["prompts above 16,384 tokens"] * 2,
    "corpus": ["real (lengths as published)"] * 2,
    "seed_replacements": [0, 3],
}


def test_warm_up_refused_left_out_and_replaced_are_said(tmp_path: Path, write: Write) -> None:
    write(tmp_path, "agents", "fcfs", seeds=2, of_runs=WINDOWS)
    result = read_result(tmp_path, "agents", "fcfs")
    warm_up = int((read_result(tmp_path, "agents", "fcfs", with_warm_up=True).requests["phase"] == "warm-up").sum())
    assert warm_up > 0
    assert not_counted([result]) == (
        f"Not counted: {warm_up:,} requests of the warm-up; 0 refused requests; of the recorded trace 2,731 of 12,031 "
        "requests, 63% of its tokens (prompts above 16,384 tokens); 1 of 2 seeds stand in for others that could not be "
        "calibrated."
    )


def test_refused_requests_are_counted(tmp_path: Path, write: Write) -> None:
    write(tmp_path, "w", "fcfs", seeds=1, outcome="unservable", start_ns=None, first_token_ns=None, hit_tokens=None)
    result = read_result(tmp_path, "w", "fcfs")
    assert f"; {len(result.requests['seed']):,} refused requests." in not_counted([result])


def test_several_workloads_are_added_up_and_named_and_policies_are_not(tmp_path: Path, write: Write) -> None:
    for policy in ("fcfs", "lpm"):
        write(tmp_path, "agents", policy, seeds=2, of_runs=WINDOWS)
        write(tmp_path, "plain", policy, seeds=2)
    results = [read_result(tmp_path, name, policy) for name in ("agents", "plain") for policy in ("fcfs", "lpm")]
    text = not_counted(results)
    assert text.count("(agents)") == 2
    assert "plain" not in text
    assert text.startswith(f"Not counted: {sum(r.warm_up_requests for r in results[::2]):,} requests")

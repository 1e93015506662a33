"""The bounds below the metrics of a workload, with what they are and are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairway.analysis import markdown, wording
from fairway.analysis.bounds import BoundsRow

_REMARK = (
    "No order of the waiting queue can beat these. They suppose a cache that never forgets and that holds from the "
    "start whatever two requests share, and for bound-mean that requests may be interrupted at no cost: they lie far "
    "below what can be reached, and say nothing about how good a policy is."
)
_HEADER = ("Requests", "Bound", "n", "p50 s", "p95 s", "p99 s", "Worst s", "Mean s", "Lowest mean of a policy")


def bounds_section(rows: Sequence[BoundsRow], lowest_means: Mapping[tuple[str, str, str], tuple[float, str]]) -> str:
    """Return the Markdown of one workload's bounds.

    ``lowest_means`` maps a row's (phase, prompts, kind) to the lowest mean in s and the policy that has it, in words.
    """
    lines = [line for row in rows for line in _lines(row, *lowest_means[row.phase, row.prompts, row.kind])]
    return f"{_REMARK}\n\n{markdown.table(_HEADER, lines)}"


def _lines(row: BoundsRow, lowest_mean_s: float, policy: str) -> tuple[tuple[str, ...], ...]:
    what = wording.selected(row.phase, row.prompts, row.kind)
    lowest = f"{wording.number(lowest_mean_s)}, {policy}"
    percentiles = (row.request_bound_p50_s, row.request_bound_p95_s, row.request_bound_p99_s, row.request_bound_worst_s)
    mean, request_mean = wording.number(row.mean_bound_mean_s), wording.number(row.request_bound_mean_s)
    count = f"{row.requests:,}"
    return (
        (what, "bound-mean", count, "-", "-", "-", "-", mean, lowest),
        (what, "bound-request", count, *map(wording.number, percentiles), request_mean, lowest),
    )

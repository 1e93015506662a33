"""What no figure of some results counts, in words, to stand beside every table of latencies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairway.analysis import wording
from fairway.analysis.metrics import EVERYTHING, refused, replaced_seeds
from fairway.analysis.results import Result


def not_counted(results: Iterable[Result]) -> str:
    """Say what is left out of these results: the warm-up, refused requests, rows of recorded traces; replaced seeds.

    The policies of one workload serve the same requests, so one result speaks for its workload.
    """
    first: dict[str, Result] = {}
    for result in results:
        first.setdefault(result.workload, result)
    chosen = list(first.values())
    parts = [
        f"{_warm_up(chosen)} of the warm-up",
        f"{sum(refused(result, EVERYTHING) for result in chosen):,} refused requests",
        *_by_text(chosen, [result.left_out for result in chosen]),
        *_by_text(chosen, [_replaced(result) for result in chosen]),
    ]
    return f"Not counted: {'; '.join(parts)}."


def _warm_up(results: Sequence[Result]) -> str:
    total = sum(result.warm_up_requests for result in results)
    if not total or not any(result.repeats_windows for result in results):
        return wording.requests(total, None)
    distinct = [result.distinct_warm_up_requests for result in results]
    pairs = zip(results, distinct, strict=True)
    return wording.requests(total, sum(result.warm_up_requests if one is None else one for result, one in pairs))


def _by_text(results: Sequence[Result], texts: Sequence[str]) -> list[str]:
    """Return each text that says something once, with its workloads where there are several."""
    workloads: dict[str, list[str]] = {}
    for result, text in zip(results, texts, strict=True):
        if text:
            workloads.setdefault(text, []).append(result.workload)
    return [text if len(results) == 1 else f"{text} ({', '.join(names)})" for text, names in workloads.items()]


def _replaced(result: Result) -> str:
    count = replaced_seeds(result)
    if count == 0:
        return ""
    return f"{count} of {len(result.seeds)} seeds stand in for others that could not be calibrated"

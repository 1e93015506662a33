"""Fairway against each policy on each workload: ratio of median and p99, with interval and verdict."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fairway.analysis import markdown, wording
from fairway.analysis.bootstrap import FloatArray, finite
from fairway.analysis.not_counted import not_counted
from fairway.analysis.study import Study
from fairway.analysis.tables import Document

BASELINES = "baselines"  # the claims file's group
BEST = "best baseline"  # that starves nobody, chosen anew in each resample


@dataclass(frozen=True)
class ComparisonRow:
    """One policy compared with another; ratios are the first over the second, below 1 where the first is faster."""

    workload: str
    phase: str
    policy: str
    other: str
    p50_ratio: float
    p50_low: float | None  # None for a single run, which has no interval
    p50_high: float | None
    p50_verdict: str
    p99_ratio: float
    p99_low: float | None
    p99_high: float | None
    p99_verdict: str
    requests: int
    refused: int
    other_refused: int
    sample: str
    evidence: str
    profile: str
    corpus: str
    not_counted: str


def comparison_rows(study: Study, policy: str) -> tuple[ComparisonRow, ...]:
    """Compare ``policy`` with every other one, and with the best baseline, on each workload that has it."""
    return tuple(
        row
        for workload in study.collection.found_workloads
        if (workload, policy) in study.collection.results
        for row in _workload_rows(study, workload, policy)
        if not math.isnan(row.p99_ratio)
    )


def comparison_document(rows: Sequence[ComparisonRow], study: Study) -> Document:
    """Put the rows into one JSON-ready document."""
    return {
        "resampling": dataclasses.asdict(study.resampling),
        "missing": study.collection.missing(),
        "rows": [dataclasses.asdict(row) for row in rows],
    }


def comparison_markdown(document: Document) -> str:
    """The page: one table per workload."""
    rows = [ComparisonRow(**record) for record in document["rows"]]
    workloads = dict.fromkeys(row.workload for row in rows)
    return "\n\n".join(_section([row for row in rows if row.workload == workload]) for workload in workloads) + "\n"


def _workload_rows(study: Study, workload: str, policy: str) -> Iterator[ComparisonRow]:
    functions = study.functions(workload)
    for result in study.collection.of(workload):
        if result.policy != policy:
            sides = {name: functions[name](result.policy) for name in ("p50", "p99")}
            yield _row(study, workload, policy, result.policy, sides, of=(result.policy,))
    group = study.group(BASELINES, workload)
    best = study.best(group, workload)
    if best is not None:
        sides = {"p50": functions["p50"](best), "p99": functions["best_p99"](group)}
        yield _row(study, workload, policy, f"{BEST} ({wording.policy(best)})", sides, of=(best, *group))


def _row(
    study: Study, workload: str, policy: str, other: str, sides: dict[str, FloatArray], of: Sequence[str]
) -> ComparisonRow:
    """Compare ``policy`` with ``sides``, which rest on the results ``of`` these policies; the first one's median."""
    functions = study.functions(workload)
    p50, p99 = (study.compare(workload, functions[name](policy), sides[name]) for name in ("p50", "p99"))
    requests, refused = study.counted(workload, policy)
    result = study.collection.results[(workload, policy)]
    return ComparisonRow(
        workload=workload,
        phase=study.phase(workload),
        policy=policy,
        other=other,
        p50_ratio=p50.ratio.point,
        p50_low=finite(p50.ratio.low),
        p50_high=finite(p50.ratio.high),
        p50_verdict=p50.verdict,
        p99_ratio=p99.ratio.point,
        p99_low=finite(p99.ratio.low),
        p99_high=finite(p99.ratio.high),
        p99_verdict=p99.verdict,
        requests=requests,
        refused=refused,
        other_refused=study.counted(workload, of[0])[1],
        sample=result.sample,
        evidence=wording.rests_on(result.evidence, edited=study.is_edited(workload, (policy, *of))),
        profile=result.profile,
        corpus=result.corpus,
        not_counted=not_counted([result]),
    )


def _section(rows: Sequence[ComparisonRow]) -> str:
    first = rows[0]
    head = (
        f"### {first.workload}, {first.phase}\n\n{first.requests:,} requests, {first.sample}, "
        f"{wording.together(row.evidence for row in rows)} ({first.profile}), {first.corpus} corpus. "
        f"{first.not_counted} Ratios of {first.policy} to the other; 95% "
        "intervals of the paired bootstrap; a tie unless the interval leaves 1 out. The best baseline has the lowest "
        "p99 of those that starve nobody, chosen anew in each resample; in brackets the choice of the point estimate, "
        "whose median is compared."
    )
    header = (f"{first.policy} over", "p50 ratio", "p50", "p99 ratio", "p99", "Refused")
    return f"{head}\n\n{markdown.table(header, map(_line, rows))}"


def _line(row: ComparisonRow) -> tuple[str, ...]:
    return (
        wording.marked(row.other if row.other.startswith(BEST) else wording.policy(row.other), row.evidence),
        wording.bounded(row.p50_ratio, row.p50_low, row.p50_high),
        row.p50_verdict,
        wording.bounded(row.p99_ratio, row.p99_low, row.p99_high),
        row.p99_verdict,
        f"{row.refused:,} and {row.other_refused:,}",
    )

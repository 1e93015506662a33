"""The metrics table: every workload, policy and selection of requests, as JSON, CSV and Markdown."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from fairway.analysis import markdown, metrics, wording
from fairway.analysis.bootstrap import Draws, FloatArray, Resampling, finite, interval
from fairway.analysis.bounds import BoundsRow, LeastWork, bounds_row
from fairway.analysis.bounds_table import bounds_section
from fairway.analysis.metrics import Selection, TtftPool
from fairway.analysis.not_counted import not_counted
from fairway.analysis.results import Result
from fairway.analysis.tables import Document, write_table

NOT_APPLICABLE = "not applicable"
_MAXIMUM = 100
_SPREAD_POLICY = "fcfs"  # the spread of uncached work is that of a queue nobody reorders


@dataclass(frozen=True)
class MetricsRow:
    """One line: a policy on a workload, over some of the requests after the warm-up.

    Whole-run figures (evicted blocks, busy and extrapolated share) include the warm-up; spread is given for FCFS.
    """

    workload: str
    policy: str
    phase: str
    prompts: str
    kind: str
    requests: int
    refused: int
    p50_s: float
    p50_low_s: float | None  # None for a single run, which has no interval
    p50_high_s: float | None
    p95_s: float
    p99_s: float
    p99_low_s: float | None
    p99_high_s: float | None
    worst_median_s: float
    worst_maximum_s: float
    worst_over_p99_median: float
    worst_over_p99_maximum: float
    mean_s: float
    hit_rate: float | None
    run_evicted_blocks: int
    run_busy_share: float
    run_extrapolated_share: float
    uncached_p95_over_p5: float | None
    uncached_max_over_min: float | None
    reuse_known: bool
    seeds: int
    sample: str
    evidence: str
    profile: str
    corpus: str
    not_counted: str
    distinct: int | None = None  # requests of a recorded trace whose windows are replayed several times


def metrics_rows(results: Sequence[Result], resampling: Resampling) -> tuple[MetricsRow, ...]:
    """Compute all lines, in the order of ``results``."""
    draws = {blocks: Draws.of(blocks, resampling) for blocks in dict.fromkeys(result.blocks for result in results)}
    return tuple(
        _row(result, selection, draws[result.blocks], resampling)
        for result in results
        for selection in _selections(result)
        if _is_served(result, selection)
    )


def bounds_rows(results: Sequence[Result], bounds: Mapping[str, Mapping[int, LeastWork]]) -> tuple[BoundsRow, ...]:
    """Compute the bounds of each workload named in ``bounds``, over the selections of the metrics.

    Raises:
        InputError: bounds are of other traces than the results.
    """
    first = {result.workload: result for result in reversed(results)}  # every policy ran the same requests
    return tuple(
        bounds_row(result, bounds[workload], selection)
        for workload, result in reversed(first.items())
        if workload in bounds
        for selection in _selections(result)
        if _is_served(result, selection)
    )


def metrics_document(rows: Sequence[MetricsRow], resampling: Resampling, bounds: Sequence[BoundsRow] = ()) -> Document:
    """Put the lines, and the bounds below them, into one JSON-ready document."""
    return {
        "resampling": dataclasses.asdict(resampling),
        "rows": [dataclasses.asdict(row) for row in rows],
        "bounds": [dataclasses.asdict(row) for row in bounds],
    }


def write_metrics(folder: Path, document: Document) -> None:
    """Write ``metrics.json``, ``metrics.csv`` (without the bounds) and ``metrics.md``."""
    write_table(folder, "metrics", document, metrics_markdown(document))


def metrics_markdown(document: Document) -> str:
    """The page: for each workload its latencies, what describes whole runs, and what no policy can beat."""
    rows = [MetricsRow(**record) for record in document["rows"]]
    bounds = [BoundsRow(**record) for record in document["bounds"]]
    sections = []
    for workload in dict.fromkeys(row.workload for row in rows):
        of_workload = [row for row in rows if row.workload == workload]
        sections.append(_section(of_workload))
        bounds_of_workload = [row for row in bounds if row.workload == workload]
        if bounds_of_workload:
            sections.append(bounds_section(bounds_of_workload, _lowest_means(of_workload)))
    return "\n\n".join(sections) + "\n"


def _selections(result: Result) -> Iterator[Selection]:
    """Everything, each phase in order of arrival, short and long prompts, and each kind where there are several."""
    yield metrics.EVERYTHING
    for phase in _in_order_of_arrival(result, "phase"):
        yield Selection(phase=phase)
    for prompts in ("short", "long"):
        yield Selection(prompts=prompts)
    kinds = _in_order_of_arrival(result, "kind")
    if len(kinds) > 1:
        for kind in kinds:
            yield Selection(kind=kind)


def _in_order_of_arrival(result: Result, column: str) -> list[str]:
    first_ns = {
        str(name): int(result.requests["arrival_ns"][result.requests[column] == name].min())
        for name in sorted(set(result.requests[column]))
        if name
    }
    return sorted(first_ns, key=lambda name: (first_ns[name], name))


def _is_served(result: Result, selection: Selection) -> bool:
    return len(TtftPool(result, selection)) > 0


def _row(result: Result, selection: Selection, draws: Draws, resampling: Resampling) -> MetricsRow:
    pool = TtftPool(result, selection)
    once = np.ones((1, len(result.seeds)), dtype=np.int64)
    p50 = interval(draws.apply(partial(pool.percentile_s, 50)), resampling, result.runs_count)
    p99 = interval(draws.apply(partial(pool.percentile_s, 99)), resampling, result.runs_count)
    return MetricsRow(
        workload=result.workload,
        policy=result.policy,
        phase=selection.phase or "all",
        prompts=selection.prompts or "all",
        kind=selection.kind or "all",
        requests=len(pool),
        refused=metrics.refused(result, selection),
        p50_s=p50.point,
        p50_low_s=finite(p50.low),
        p50_high_s=finite(p50.high),
        p95_s=_point(pool.percentile_s(95, once)),
        p99_s=p99.point,
        p99_low_s=finite(p99.low),
        p99_high_s=finite(p99.high),
        worst_median_s=_point(pool.worst_s(once)),
        worst_maximum_s=_point(pool.worst_s(once, _MAXIMUM)),
        worst_over_p99_median=_point(pool.worst_over_p99(once)),
        worst_over_p99_maximum=_point(pool.worst_over_p99(once, _MAXIMUM)),
        mean_s=_point(pool.mean_s(once)),
        hit_rate=_point(metrics.hit_rate(result, selection, once)) if result.reuse_is_known else None,
        run_evicted_blocks=metrics.evicted_blocks(result),
        run_busy_share=_point(metrics.busy_share(result, once)),
        run_extrapolated_share=metrics.extrapolated_tokens_share(result),
        uncached_p95_over_p5=queue_spread(result),
        uncached_max_over_min=queue_spread(result, extremes=True),
        reuse_known=result.reuse_is_known,
        seeds=len(result.seeds),
        sample=result.sample,
        evidence=result.rests_on,
        profile=result.profile,
        corpus=result.corpus,
        not_counted=not_counted([result]),
        distinct=pool.distinct,
    )


def queue_spread(result: Result, *, extremes: bool = False) -> float | None:
    """Return the spread of uncached work under FCFS; None under others, where hits are unknown or nobody queues."""
    if result.policy != _SPREAD_POLICY or not result.reuse_is_known:
        return None
    once = np.ones((1, len(result.seeds)), dtype=np.int64)
    spread = _point(metrics.uncached_spread(result, once, extremes=extremes))
    return None if math.isnan(spread) else spread


def _point(vector: FloatArray) -> float:
    return float(np.asarray(vector)[0])


def _lowest_means(rows: Sequence[MetricsRow]) -> dict[tuple[str, str, str], tuple[float, str]]:
    """Return, for each selection, the lowest mean and the policy that has it, as tables say it."""
    lowest: dict[tuple[str, str, str], tuple[float, str]] = {}
    for row in rows:
        selection, mean = (row.phase, row.prompts, row.kind), (row.mean_s, _said(row))
        lowest[selection] = min(mean, lowest.get(selection, mean))
    return lowest


def _section(rows: Sequence[MetricsRow]) -> str:
    first = rows[0]
    head = (
        f"### {first.workload}\n\n{first.sample}, {wording.together(row.evidence for row in rows)} "
        f"({first.profile}), {first.corpus} corpus, {_extrapolated(rows)}. {first.not_counted}"
    )
    header = ("Requests", "Policy", "n", "Refused", "p50 s", "p95 s", "p99 s", "Worst s", "Worst/p99", "Hit rate")
    by_selection: dict[tuple[str, str, str], list[MetricsRow]] = {}
    for row in rows:
        by_selection.setdefault((row.phase, row.prompts, row.kind), []).append(row)
    lines = [_line(row) for group in by_selection.values() for row in group]
    remark = (
        "p50 and p99 with intervals; worst and worst/p99 as median over seeds, of an even number the lower middle one "
        "(maximum); above 3 it starves."
    )
    if not first.reuse_known:
        remark += " The trace does not say what prompts share: hits and uncached work are not applicable."
    whole = [row for row in rows if wording.selected(row.phase, row.prompts, row.kind) == "all"]
    return "\n\n".join((f"{head} {remark}", markdown.table(header, lines), _whole_runs(whole)))


def _whole_runs(rows: Sequence[MetricsRow]) -> str:
    header = ("Whole runs", "Evicted blocks", "Busy", "Extrapolated tokens", "Uncached p95/p5", "max/min")
    return markdown.table(header, [_whole_run(row) for row in rows])


def _whole_run(row: MetricsRow) -> tuple[str, ...]:
    spreads = (row.uncached_p95_over_p5, row.uncached_max_over_min)
    return (
        _said(row),
        f"{row.run_evicted_blocks:,}",
        f"{100 * row.run_busy_share:.1f}%",
        f"{100 * row.run_extrapolated_share:.1f}%",
        *(_spread_words(row, spread) for spread in spreads),
    )


def _spread_words(row: MetricsRow, spread: float | None) -> str:
    if not row.reuse_known:
        return NOT_APPLICABLE
    return "-" if spread is None else wording.number(spread)


def _extrapolated(rows: Sequence[MetricsRow]) -> str:
    """The highest share among the policies, whose computed tokens differ."""
    return wording.extrapolated(max(row.run_extrapolated_share for row in rows))


def _line(row: MetricsRow) -> tuple[str, ...]:
    return (
        wording.selected(row.phase, row.prompts, row.kind),
        _said(row),
        wording.count(row.requests, row.distinct),
        f"{row.refused:,}",
        wording.bounded(row.p50_s, row.p50_low_s, row.p50_high_s),
        wording.number(row.p95_s),
        wording.bounded(row.p99_s, row.p99_low_s, row.p99_high_s),
        f"{wording.number(row.worst_median_s)} ({wording.number(row.worst_maximum_s)})",
        _worst_over_p99(row),
        NOT_APPLICABLE if row.hit_rate is None else f"{100 * row.hit_rate:.1f}%",
    )


def _said(row: MetricsRow) -> str:
    return wording.marked(wording.policy(row.policy), row.evidence)


def _worst_over_p99(row: MetricsRow) -> str:
    starving = " starving" if row.worst_over_p99_median > metrics.STARVING_WORST_OVER_P99 else ""
    return f"{wording.number(row.worst_over_p99_median)} ({wording.number(row.worst_over_p99_maximum)}){starving}"

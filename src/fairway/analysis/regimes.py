"""The regime map: which policy wins where, over spread of uncached work, load and share of hot work."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairway.analysis import markdown, wording
from fairway.analysis.not_counted import not_counted
from fairway.analysis.study import Study
from fairway.analysis.tables import Document, read_table
from fairway.errors import InputError

POLICY = "fairway"
BASELINES = "baselines"  # the claims file's group
_FACTS = frozenset({"spread", "load", "hot_share"})
_REMEDY = "run the workflow, which measures it from FCFS's replays"


@dataclass(frozen=True)
class Place:
    """Where a configuration lies on the map, measured under FCFS alone."""

    spread: float | None  # p95 over p5 of the waiting requests' uncached tokens; None where never enough wait
    load: float  # multiples of rate 1.0
    hot_share: float  # of the uncached tokens


@dataclass(frozen=True)
class RegimeRow:
    """One configuration and who wins in it; p99 among those that starve nobody."""

    workload: str
    phase: str
    spread: float | None
    load: float
    hot_share: float
    p99_winner: str
    p99_s: float
    p50_winner: str
    p50_s: float
    fairway_p99_over_best_baseline: float | None  # None where every baseline starves requests
    fairway_p50_over_best_baseline: float
    requests: int
    refused: int
    sample: str
    evidence: str
    profile: str
    corpus: str


def read_places(folder: Path, workloads: Sequence[str]) -> dict[str, Place]:
    """Read ``<workload>.json`` of each workload; InputError if one is missing or has no place in it."""
    return {workload: _read_place(folder / f"{workload}.json") for workload in workloads}


def regime_rows(study: Study, places: Mapping[str, Place]) -> tuple[RegimeRow, ...]:
    """Return one row per workload that has Fairway and a baseline.

    Raises:
        InputError: there is none.
    """
    rows = tuple(
        _row(study, workload, places[workload])
        for workload in study.collection.found_workloads
        if study.group(BASELINES, workload) and (workload, POLICY) in study.collection.results
    )
    if not rows:
        raise InputError(f"no configuration has {POLICY} and a baseline", remedy="replay both on the sweep")
    return rows


def regimes_document(rows: Sequence[RegimeRow], study: Study) -> Document:
    """Put the rows into one JSON-ready document."""
    return {
        "not_counted": not_counted(study.collection.listed),
        "rows": [dataclasses.asdict(row) for row in rows],
    }


def regimes_markdown(document: Document) -> str:
    """The table: how often each policy wins, then every configuration."""
    rows = [RegimeRow(**record) for record in document["rows"]]
    first = rows[0]
    requests, refused = sum(row.requests for row in rows), sum(row.refused for row in rows)
    head = (
        f"{len(rows)} configurations, {first.phase}, {first.sample} each: {requests:,} requests per policy, "
        f"{refused:,} refused, {wording.together(row.evidence for row in rows)} ({first.profile}), {first.corpus} "
        f"corpus. {document['not_counted']} "
        "p99 is compared among policies that starve nobody; ratios are Fairway's over the best baseline's."
    )
    header = ("Configuration", "Spread", "Load", "Hot work", "Lowest p99", "Lowest p50", "p99 ratio", "p50 ratio")
    return f"{head}\n\n{_wins(rows)}\n\n{markdown.table(header, map(_line, rows))}\n"


def _wins(rows: Sequence[RegimeRow]) -> str:
    p99, p50 = Counter(row.p99_winner for row in rows), Counter(row.p50_winner for row in rows)
    names = sorted({*p99, *p50}, key=lambda name: (-p99[name], -p50[name], name))
    return markdown.table(
        ("Policy", "Lowest p99", "Lowest p50"), ((wording.policy(n), str(p99[n]), str(p50[n])) for n in names)
    )


def _line(row: RegimeRow) -> tuple[str, ...]:
    return (
        wording.marked(row.workload, row.evidence),
        "-" if row.spread is None else wording.number(row.spread),
        wording.number(row.load),
        f"{100 * row.hot_share:.0f}%",
        f"{wording.policy(row.p99_winner)} {wording.number(row.p99_s)} s",
        f"{wording.policy(row.p50_winner)} {wording.number(row.p50_s)} s",
        "-" if row.fairway_p99_over_best_baseline is None else wording.number(row.fairway_p99_over_best_baseline),
        wording.number(row.fairway_p50_over_best_baseline),
    )


def _row(study: Study, workload: str, place: Place) -> RegimeRow:
    baselines = study.group(BASELINES, workload)
    every = (POLICY, *baselines)
    study.check_served(workload, POLICY)
    functions = study.functions(workload)
    p50_s = {policy: float(functions["p50"](policy)[0]) for policy in every}
    p99_s = {policy: float(functions["p99"](policy)[0]) for policy in every}
    p50_winner = min(every, key=lambda policy: p50_s[policy])
    p99_winner = study.best(every, workload) or ""
    best_baseline = study.best(baselines, workload)
    served, refused = study.counted(workload, POLICY)
    result = study.collection.results[(workload, POLICY)]
    return RegimeRow(
        workload=workload,
        phase=study.phase(workload),
        spread=place.spread,
        load=place.load,
        hot_share=place.hot_share,
        p99_winner=p99_winner or "none without starving",
        p99_s=p99_s.get(p99_winner, min(p99_s.values())),
        p50_winner=p50_winner,
        p50_s=p50_s[p50_winner],
        fairway_p99_over_best_baseline=None if best_baseline is None else p99_s[POLICY] / p99_s[best_baseline],
        fairway_p50_over_best_baseline=p50_s[POLICY] / min(p50_s[policy] for policy in baselines),
        requests=served,
        refused=refused,
        sample=result.sample,
        evidence=wording.rests_on(result.evidence, edited=study.is_edited(workload, every)),
        profile=result.profile,
        corpus=result.corpus,
    )


def _read_place(path: Path) -> Place:
    raw = read_table(path, _FACTS, _REMEDY)
    spread, load, hot_share = raw["spread"], raw["load"], raw["hot_share"]
    numbers = [load, hot_share, *([] if spread is None else [spread])]
    if not all(isinstance(number, int | float) and number >= 0 for number in numbers) or hot_share > 1:
        raise InputError("spread, load and hot_share are not all numbers from 0 on", remedy=_REMEDY, file=path)
    return Place(spread, float(load), float(hot_share))

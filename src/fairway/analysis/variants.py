"""What variants of workloads change: each claim asked again, with the varied workloads in their own ones' places."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairway.analysis import markdown, wording
from fairway.analysis.claims import ClaimsFile
from fairway.analysis.collection import Key
from fairway.analysis.inputs import Inputs
from fairway.analysis.metrics_table import queue_spread
from fairway.analysis.not_counted import not_counted
from fairway.analysis.results import EVERY_ROW, Result
from fairway.analysis.study import Study
from fairway.analysis.tables import Document
from fairway.analysis.verdicts import Answer, answer_claims
from fairway.errors import InputError
from fairway.rows import SealCheck

VERDICT, CHECKS, NOTHING = "verdict", "checks", "nothing"  # what a variant changes of a claim


@dataclass(frozen=True)
class Variant:
    """A variant, and the results of each workload that it was put over by that workload's own name and policy."""

    name: str
    results: Mapping[Key, Result]

    @property
    def workloads(self) -> tuple[str, ...]:
        """The workloads that it was put over."""
        return tuple(dict.fromkeys(workload for workload, _ in self.results))


@dataclass(frozen=True)
class VariantRow:
    """One claim by default and under one variant."""

    variant: str
    profile: str
    claim: str
    workloads: str  # of the claim, those that are varied
    changes: str
    default_verdict: str
    verdict: str
    checks: str  # those that become true or false, with their sides
    figures: str  # of the claim, by default and under the variant
    requests: int
    refused: int
    sample: str
    evidence: str


@dataclass(frozen=True)
class LatencyRow:
    """One policy on one workload, by default and under one variant."""

    variant: str
    workload: str
    phase: str
    policy: str
    default_p50_s: float
    p50_s: float
    default_p99_s: float
    p99_s: float


def variant_rows(study: Study, variants: Sequence[Variant], answers: Document) -> tuple[VariantRow, ...]:
    """Ask, under each variant, the claims that ask one of its workloads; ``answers`` are those by default.

    Raises:
        InputError: ``answers`` lack a claim.
    """
    by_default = {claim["id"]: claim for claim in answers["claims"]}
    rows = []
    for variant in variants:
        for answer in _answers(study, variant):
            if answer.id not in by_default:
                raise InputError(f"the default answers lack {answer.id}", remedy="answer the same claims file again")
            rows.append(_row(study.claims, variant, answer, by_default[answer.id]))
    return tuple(rows)


def latency_rows(study: Study, variants: Sequence[Variant]) -> tuple[LatencyRow, ...]:
    """Set the latencies of every policy beside those by default, where both are there."""
    return tuple(row for variant in variants for row in _latencies(study, variant))


def variants_document(
    rows: Sequence[VariantRow], latencies: Sequence[LatencyRow], variants: Sequence[Variant], study: Study
) -> Document:
    """Put both into one JSON-ready document."""
    asked = {row.variant for row in rows}
    unasked = {variant.name: _rests_on(variant) for variant in variants if variant.name not in asked}
    return {
        "not_counted": {
            variant.name: f"{not_counted(variant.results.values())}{_edited(study, variant)}" for variant in variants
        },
        **({"unasked": unasked} if unasked else {}),
        "rows": [dataclasses.asdict(row) for row in rows],
        "latencies": [dataclasses.asdict(row) for row in latencies],
    }


def variants_markdown(document: Document) -> str:
    """The page: for each variant what it changes of the claims, then the latencies."""
    rows = [VariantRow(**record) for record in document["rows"]]
    latencies = [LatencyRow(**record) for record in document["latencies"]]
    sections = []
    for variant, remark in document["not_counted"].items():
        of_variant = [row for row in rows if row.variant == variant]
        head = _claims(of_variant, remark) if of_variant else f"{document['unasked'][variant]} {remark}"
        table = _latency_table([row for row in latencies if row.variant == variant])
        sections += [f"### {variant}", head, table]
    return "\n\n".join(sections) + "\n"


def _edited(study: Study, variant: Variant) -> str:
    """Name the results behind a variant's latencies that were edited; "" where none was."""
    both = {"by default": study.collection.results, variant.name: variant.results}
    edited = [
        f"{'/'.join(key)} ({name})"
        for key in variant.results
        for name, results in both.items()
        if key in results and results[key].edited
    ]
    return f" EDITED after it was written: {', '.join(edited)}." if edited else ""


def _answers(study: Study, variant: Variant) -> tuple[Answer, ...]:
    results = {**study.collection.results, **variant.results}
    inputs = Inputs(
        results=results,
        exact={},
        absent={},
        exact_absent="",
        exact_edit=SealCheck((), ()),
        edits={key: SealCheck(result.edited, ()) for key, result in results.items() if result.edited},
    )
    return answer_claims(study.claims.asking(variant.workloads), inputs, study.resampling)


def _row(claims: ClaimsFile, variant: Variant, answer: Answer, default: Mapping[str, Any]) -> VariantRow:
    asked = next(claim.workloads for claim in claims.claims if claim.id == answer.id)
    checks = list(_moved_checks(default, answer))
    changes = VERDICT if answer.verdict != default["verdict"] else CHECKS if checks else NOTHING
    return VariantRow(
        variant=variant.name,
        profile=next(iter(variant.results.values())).profile,
        claim=answer.id,
        workloads=", ".join(name for name in variant.workloads if name in asked),
        changes=changes,
        default_verdict=default["verdict"],
        verdict=answer.verdict,
        checks="; ".join(checks),
        figures="; ".join(_moved_figures(default, answer)),
        requests=answer.requests,
        refused=answer.refused,
        sample=answer.sample,
        evidence=wording.rests_on(answer.evidence, edited=bool(answer.edits or default["edits"])),
    )


def _moved_checks(default: Mapping[str, Any], answer: Answer) -> Iterator[str]:
    """Name the checks whose truth at the point estimate is another one."""
    before = {(check["check"], check["workload"]): check for check in default["checks"]}
    for outcome in answer.checks:
        check = dataclasses.asdict(outcome)
        old = before.get((outcome.check, outcome.workload))
        if old is not None and old["point"] != outcome.point:
            where = f" [{outcome.workload}]" if outcome.workload else ""
            sides = f"{wording.sides(old)} -> {wording.sides(check)}"
            yield f"{' '.join(outcome.check.split())}{where}: {sides}"


def _moved_figures(default: Mapping[str, Any], answer: Answer) -> Iterator[str]:
    before = {(figure["name"], figure["workload"]): figure["point"] for figure in default["figures"]}
    for figure in answer.figures:
        old = before.get((figure.name, figure.workload))
        if old is not None:
            where = f" on {figure.workload}" if figure.workload else ""
            yield f"{wording.figure(figure.name, [old])} -> {wording.number(figure.point)}{where}"


def _latencies(study: Study, variant: Variant) -> Iterator[LatencyRow]:
    collection = dataclasses.replace(study.collection, results=dict(variant.results))
    both = (study, Study.of(collection, study.claims, study.resampling))
    for workload, policy in variant.results:
        if (workload, policy) in study.collection.results:
            p50_s, p99_s = ([_point(one, name, workload, policy) for one in both] for name in ("p50", "p99"))
            yield LatencyRow(variant.name, workload, study.phase(workload), policy, *p50_s, *p99_s)


def _point(study: Study, name: str, workload: str, policy: str) -> float:
    return float(study.functions(workload)[name](policy)[0])


def _rests_on(variant: Variant) -> str:
    """Say what the latencies of a variant rest on that no claim asks for, and how different its queue is."""
    by_workload = {workload: result for (workload, _), result in variant.results.items()}
    first = next(iter(by_workload.values()))
    counts = [
        f"{workload} {wording.requests(len(result.requests['seed']), result.distinct(EVERY_ROW))}"
        for workload, result in by_workload.items()
    ]
    spreads = [
        f" Spread of uncached work under FCFS on {workload}: {wording.number(spread)}."
        for (workload, _), result in variant.results.items()
        if (spread := queue_spread(result)) is not None
    ]
    head = f"No claim asks its workloads: {', '.join(counts)}; {first.sample}, {first.rests_on} ({first.profile})."
    return head + "".join(spreads)


def _claims(rows: Sequence[VariantRow], remark: str) -> str:
    first = rows[0]
    counts = {change: sum(row.changes == change for row in rows) for change in (VERDICT, CHECKS, NOTHING)}
    head = (
        f"Claims that ask varied workloads: {len(rows)}; of them {counts[VERDICT]} with another "
        f"verdict, {counts[CHECKS]} with the same verdict but other checks true. {first.sample}, "
        f"{wording.together(row.evidence for row in rows)} ({first.profile}). {remark}"
    )
    claims = markdown.table(
        ("Claim", "Varied workloads", "By default", "Under the variant", "Checks that change", "Figures"),
        (
            (
                wording.marked(f"`{row.claim}`", row.evidence),
                row.workloads,
                row.default_verdict,
                f"**{row.verdict}**" if row.changes == VERDICT else row.verdict,
                row.checks or "-",
                row.figures or "-",
            )
            for row in rows
        ),
    )
    return f"{head}\n\n{claims}"


def _latency_table(rows: Sequence[LatencyRow]) -> str:
    columns = ("Workload", "Policy", "p50 s by default", "p50 s", "p99 s by default", "p99 s")
    return markdown.table(columns, map(_latency_line, rows))


def _latency_line(row: LatencyRow) -> tuple[str, ...]:
    seconds = (row.default_p50_s, row.p50_s, row.default_p99_s, row.p99_s)
    return (f"{row.workload}, {row.phase}", wording.policy(row.policy), *map(wording.number, seconds))

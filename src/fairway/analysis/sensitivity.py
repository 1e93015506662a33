"""How far one moved parameter moves the spike, on the seed that the parameters were tuned on."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from fairway.analysis import markdown, wording
from fairway.analysis.not_counted import not_counted
from fairway.analysis.study import Study
from fairway.analysis.tables import Document
from fairway.errors import InputError

VARIANTS = "one_parameter_moved"  # the claims file's group
DEFAULT = "fairway"


@dataclass(frozen=True)
class SensitivityRow:
    """A policy with one parameter moved; ratios are to the default parameters."""

    workload: str
    phase: str
    policy: str
    p50_s: float
    p99_s: float
    p50_ratio: float
    p99_ratio: float
    requests: int
    refused: int
    sample: str
    evidence: str
    profile: str
    corpus: str
    not_counted: str


def sensitivity_rows(study: Study) -> tuple[SensitivityRow, ...]:
    """Return the default and every variant that was run, by workload.

    Raises:
        InputError: the default parameters were not run or served nothing, so there is nothing to compare with.
    """
    rows = []
    for workload in study.collection.found_workloads:
        if (workload, DEFAULT) not in study.collection.results:
            raise InputError(f"no result of {DEFAULT} on {workload}", remedy="replay it with the default parameters")
        variants = study.group(VARIANTS, workload)
        study.check_served(workload, DEFAULT)
        rows += [_row(study, workload, policy) for policy in (DEFAULT, *variants)]
    return tuple(rows)


def sensitivity_document(rows: Sequence[SensitivityRow]) -> Document:
    """Put the rows into one JSON-ready document."""
    return {"rows": [dataclasses.asdict(row) for row in rows]}


def sensitivity_markdown(document: Document) -> str:
    """The table, one line per variant."""
    rows = [SensitivityRow(**record) for record in document["rows"]]
    first = rows[0]
    head = (
        f"{first.phase} of {first.workload}: {first.requests:,} requests, {first.refused:,} refused, {first.sample}, "
        f"{wording.together(row.evidence for row in rows)} ({first.profile}), {first.corpus} corpus. "
        f"{first.not_counted} Ratios are to the default parameters."
    )
    header = ("Policy", "p50 s", "p99 s", "p50 ratio", "p99 ratio")
    lines = [
        (
            wording.marked(row.policy, row.evidence),
            *map(wording.number, (row.p50_s, row.p99_s, row.p50_ratio, row.p99_ratio)),
        )
        for row in rows
    ]
    return f"{head[0].upper()}{head[1:]}\n\n{markdown.table(header, lines)}\n"


def _row(study: Study, workload: str, policy: str) -> SensitivityRow:
    result = study.collection.results[(workload, policy)]
    functions = study.functions(workload)
    p50_s, p99_s = (float(functions[name](policy)[0]) for name in ("p50", "p99"))
    default_p50_s, default_p99_s = (float(functions[name](DEFAULT)[0]) for name in ("p50", "p99"))
    served, refused = study.counted(workload, policy)
    return SensitivityRow(
        workload=workload,
        phase=study.phase(workload),
        policy=policy,
        p50_s=p50_s,
        p99_s=p99_s,
        p50_ratio=p50_s / default_p50_s,
        p99_ratio=p99_s / default_p99_s,
        requests=served,
        refused=refused,
        sample=result.sample,
        evidence=wording.rests_on(result.evidence, edited=study.is_edited(workload, (policy, DEFAULT))),
        profile=result.profile,
        corpus=result.corpus,
        not_counted=not_counted([result]),
    )

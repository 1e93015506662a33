"""The claims table as a document (JSON), as lines (CSV) and for readers (Markdown, terminal)."""

from __future__ import annotations

import dataclasses
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from fairway.analysis import markdown, wording
from fairway.analysis.bootstrap import Resampling
from fairway.analysis.causes import KnownCause
from fairway.analysis.inputs import Expected, Inputs
from fairway.analysis.metrics import extrapolated_tokens_share
from fairway.analysis.not_counted import not_counted
from fairway.analysis.results import Result
from fairway.analysis.tables import Document, csv_of, read_table, write_pages
from fairway.analysis.verdicts import CANNOT_BE_ASKED, EXACT, FULL_SEEDS, UNHELD, VERDICTS, Answer, Edit, exact_edits
from fairway.files import sha256

_WIDTH = 120
_MOST_MOVES = 3  # moved numbers that a line names; the JSON has all
_REMEDY = "run scripts/answer_claims.py again"


def claims_document(
    answers: Sequence[Answer],
    inputs: Inputs,
    expected: Expected,
    claims_path: Path,
    resampling: Resampling,
    causes: Sequence[KnownCause] = (),
    measured: Sequence[Document] = (),
) -> Document:
    """Put answers and what they rest on into one JSON-ready document; ``measured`` are such documents of a device."""
    results = [inputs.results[key] for key in sorted(inputs.results)]
    edits = [Edit("/".join(key), check.edited, check.moved) for key, check in sorted(inputs.edits.items())]
    edits += exact_edits(inputs)
    absent = [inputs.absent[key] for key in sorted(inputs.absent)]
    tabulated = [inputs.results[key] for key in expected.groups[0].keys if key in inputs.results]
    counts = Counter(answer.verdict for answer in answers)
    # A cause says why the results as they were written do not bear a claim out.
    unheld = {answer.id for answer in answers if answer.verdict in UNHELD and not answer.edits}
    return {
        "claims_sha256": sha256(claims_path),
        "resampling": dataclasses.asdict(resampling),
        "seeds": min((len(result.seeds) for result in tabulated), default=0),
        "sample": _repeated_windows(tabulated),
        "seed_numbers": sorted({seed for result in tabulated for seed in result.seeds}),
        "not_counted": not_counted(tabulated),
        "workloads": list(expected.groups[0].workloads),
        "policies": list(expected.groups[0].policies),
        "evidence": sorted({result.evidence for result in results}),
        "profiles": sorted({f"{result.profile} ({result.profile_evidence})" for result in results}),
        "corpora": sorted({result.corpus for result in results}),
        "extrapolated_share": max((extrapolated_tokens_share(result) for result in results), default=0.0),
        "edited": [dataclasses.asdict(edit) for edit in edits],
        "missing": [*absent, *([inputs.exact_absent] if inputs.exact_absent else [])],
        "verdicts": {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]},
        "claims": [dataclasses.asdict(answer) for answer in answers],
        "causes": [dataclasses.asdict(cause) for cause in causes if cause.claim in unheld],
        "measured": [
            {
                "profiles": answered["profiles"],
                "stand_ins": sorted(set(answered.get("stand_ins", {}).values())),
                "answers": {
                    claim["id"]: f"{verdict_words(claim)}; {_here(claim)}"
                    for claim in answered["claims"]
                    if claim["evidence"] != EXACT  # what needs no run was not measured either
                },
            }
            for answered in measured
        ],
    }


def _repeated_windows(results: Sequence[Result]) -> str | None:
    """Say how few windows the results rest on where seeds repeat some; None where none does."""
    repeated = [result for result in results if result.repeats_windows]
    if not repeated:
        return None
    fewest = min(repeated, key=lambda result: result.runs_count).sample
    others = [len(result.seeds) for result in results if not result.repeats_windows]
    return f"{min(others)} seeds, of recorded traces {fewest}" if others else fewest


def write_claims(folder: Path, document: Document) -> None:
    """Write ``claims.json``, ``claims.csv`` and ``claims.md``."""
    write_pages(folder, "claims", document, _csv(document), claims_markdown(document))


def read_document(path: Path, remedy: str = _REMEDY) -> Document:
    """Read ``claims.json``; InputError if it is missing, edited or not such a document."""
    return read_table(path, frozenset({"claims", "edited", "missing", "verdicts"}), remedy, remedy)


def is_sound(document: Document) -> bool:
    """Say whether every expected result was there and as it was written."""
    return not document["edited"] and not document["missing"]


def claims_markdown(document: Document) -> str:
    """The page: head, table, and every check with its values."""
    return "\n\n".join([*head_lines(document), readers_table(document), "### Checks", _checks(document)]) + "\n"


def readers_table(document: Document) -> str:
    """The table and the causes below it, as the README shows them."""
    return "\n\n".join([_table(document), *_causes(document)])


def _causes(document: Document) -> list[str]:
    """Why claims do not hold, one line each; nothing where no cause is known."""
    if not document["causes"]:
        return []
    lines = [
        (
            f"`{cause['claim']}`",
            cause["says"],
            f"`{cause['configuration']}`: {cause['sample']}, {cause['evidence']}",
        )
        for cause in document["causes"]
    ]
    table = markdown.table(("Claim", "Why it does not hold here", "Found with"), lines)
    return ["Why claims do not hold was looked for after the runs, and decides nothing.", table]


def _table(document: Document) -> str:
    devices = [_device(measured) for measured in document["measured"]]
    return markdown.table(
        ("Claim", "Paper", "Here", "Verdict", *devices, "Sweep", "Evidence"),
        (
            (
                f"{claim['says']} (`{claim['id']}`)",
                wording.paper(claim["paper"]) or "-",
                _here(claim) or "-",
                verdict_words(claim),
                *(measured["answers"].get(claim["id"], "-") for measured in document["measured"]),
                _sweep(claim),
                evidence_words(claim, document["corpora"]),
            )
            for claim in document["claims"]
        ),
    )


def _device(measured: Mapping[str, Any]) -> str:
    """The head of a column of measurements: on what, and on which workloads if not on the paper's."""
    stand_ins = measured["stand_ins"]
    return f"Measured: {', '.join(measured['profiles'])}" + (f", on {', '.join(stand_ins)}" if stand_ins else "")


def terminal(document: Document, folder: Path) -> str:
    """The table for a terminal of 120 columns; ``folder`` is where its files lie."""
    lines = [line for paragraph in head_lines(document) for line in textwrap.wrap(paragraph, _WIDTH)]
    lines.append("")
    ids = max(len(claim["id"]) for claim in document["claims"])
    causes = {cause["claim"]: f". Cause: {cause['says']}" for cause in document["causes"]}
    for claim in document["claims"]:
        text = f"{claim['id']:<{ids}}  {verdict_words(claim)}. {_here(claim)}".rstrip(". ")
        text += causes.get(claim["id"], "")
        lines += textwrap.wrap(text, _WIDTH, subsequent_indent=" " * (ids + 2), break_on_hyphens=False)
    lines += ["", f"Tables: {folder}/claims.md, claims.csv, claims.json"]
    return "\n".join(lines)


def head_lines(document: Document) -> list[str]:
    """What the table rests on, one paragraph each: verdicts, seeds, step times, what is not counted, edits."""
    counts = ", ".join(f"{verdict}: {n}" for verdict, n in document["verdicts"].items())
    resampling = document["resampling"]
    sample = document.get("sample") or f"{document['seeds']} seeds"
    drawn = " or ".join(word for word in ("seeds", "windows") if word[:-1] in sample)
    rests = [
        sample,
        f"step times: {', '.join(document['profiles']) or 'none'}",
        f"corpus: {', '.join(document['corpora']) or 'none'}",
        wording.extrapolated(document["extrapolated_share"]),
        f"{resampling['resamples']:,} resamples of {drawn}, {resampling['confidence_percent']}%",
    ]
    head = [
        f"{len(document['claims'])} claims. {counts[0].upper()}{counts[1:]}.",
        f"Rests on {'; '.join(rests)}.",
        document["not_counted"],
    ]
    if document["seeds"] < FULL_SEEDS:
        head.append(f"Every simulated verdict is indicative: fewer than {FULL_SEEDS} seeds.")
    head.append(f"Checks: SHA-256 of the claims file {document['claims_sha256']}.")
    head += [f"EDITED after it was written: {edit_words(edit)}." for edit in document["edited"]]
    head += [f"MISSING: {name}." for name in document["missing"]]
    return head


def edit_words(edit: Mapping[str, Any]) -> str:
    """Say which files of a result were edited, and how its values moved."""
    # What readers of a claim look for first is how latencies moved.
    moves = sorted(edit["moved"], key=lambda move: "ttft" not in move["name"])
    words = [wording.moved(move["name"], move["old"], move["new"]) for move in moves[:_MOST_MOVES]]
    if len(moves) > _MOST_MOVES:
        words.append(f"{len(moves) - _MOST_MOVES} more")
    how = "; ".join(words) or "none of the values kept beside it moved"
    return f"{', '.join(edit['files'])} of {edit['result']} ({how})"


def _here(claim: Mapping[str, Any]) -> str:
    parts = [*figure_words(claim), *_partial(claim)]
    if claim["detail"]:
        parts.append(claim["detail"])
    if claim["missing"]:
        parts.append(f"needs {wording.needs(claim['missing'])}")
    parts += [f"missing: {name}" for name in claim["absent"]]
    parts += [f"edited: {edit_words(edit)}" for edit in claim["edits"]]
    return "; ".join(parts)


def figure_words(claim: Mapping[str, Any]) -> list[str]:
    """Say each of a claim's figures."""
    by_name: dict[str, list[float]] = {}
    for figure in claim["figures"]:
        by_name.setdefault(figure["name"], []).append(figure["point"])
    return [wording.figure(name, values) for name, values in by_name.items()]


def _partial(claim: Mapping[str, Any]) -> list[str]:
    """What the checks that can be evaluated say of a claim that as a whole cannot be asked."""
    if claim["verdict"] != CANNOT_BE_ASKED:
        return []
    asked = [check["point"] for check in claim["checks"] if check["point"] is not None]
    return [f"of its checks that can be asked, {sum(asked)} of {len(asked)} true"] if asked else []


def verdict_words(claim: Mapping[str, Any]) -> str:
    """Say a claim's verdict, and whether it is indicative or rests on edited results."""
    marks = ["indicative"] if claim["indicative"] and claim["verdict"] != CANNOT_BE_ASKED else []
    marks += ["edited"] if claim["edits"] else []
    return f"{claim['verdict']} ({', '.join(marks)})" if marks else str(claim["verdict"])


def _sweep(claim: Mapping[str, Any]) -> str:
    """In what share of the sweep's configurations the claim is true; a dash where the sweep was not asked."""
    share = claim["sweep"]["share"]
    return "-" if share is None else f"{100 * share:.0f}% of {claim['sweep']['detail']}"


def evidence_words(claim: Mapping[str, Any], corpora: Sequence[str]) -> str:
    """Say what a claim's answer rests on; ``corpora`` are those of the run."""
    parts = [claim["evidence"]]
    if claim["sample"]:
        parts.append(f"{' and '.join(corpora)} corpus")
        requests = wording.requests(claim["requests"], claim.get("distinct"))
        parts.append(f"{requests}, {claim['refused']:,} refused, {claim['sample']}")
    if claim["cases"]:
        parts.append(f"{claim['cases']:,} cases")
    return ", ".join(parts)


def _checks(document: Document) -> str:
    return markdown.table(
        ("Claim", "Check", "On", "Values", "True in"),
        [line for claim in document["claims"] for line in check_lines(claim)],
    )


def check_lines(claim: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """One line per check and workload that can be asked; one for all workloads where a check cannot."""
    for check, outcomes in groupby(claim["checks"], key=lambda outcome: str(outcome["check"])):
        text = (f"`{claim['id']}`", f"`{' '.join(check.split())}`")
        unasked = []
        for outcome in outcomes:
            if outcome["share"] is None:
                unasked.append(outcome["workload"])
            else:
                yield (*text, outcome["workload"] or "-", wording.sides(outcome), f"{100 * outcome['share']:.1f}%")
        if unasked:
            yield (*text, wording.names(unasked, "workloads") or "-", "-", "not asked")


def _csv(document: Document) -> str:
    rows = [
        {
            "id": claim["id"],
            "kind": claim["kind"],
            "claim": claim["says"],
            "paper": wording.paper(claim["paper"]),
            "here": "; ".join(figure_words(claim)),
            "verdict": claim["verdict"],
            "indicative": claim["indicative"],
            "evidence": claim["evidence"],
            "checks": "; ".join(_csv_check(check) for check in claim["checks"]),
            "sweep_share": claim["sweep"]["share"],
            "sweep": claim["sweep"]["detail"],
            "requests": claim["requests"],
            "refused": claim["refused"],
            "sample": claim["sample"],
            "needs": "; ".join(claim["missing"]),
            "missing": "; ".join(claim["absent"]),
            "edited": "; ".join(edit_words(edit) for edit in claim["edits"]),
            "note": claim["note"],
            "claims_sha256": document["claims_sha256"],
        }
        for claim in document["claims"]
    ]
    return csv_of(rows)


def _csv_check(check: Mapping[str, Any]) -> str:
    share = "not asked" if check["share"] is None else f"true in {100 * check['share']:.1f}%"
    return f"{' '.join(check['check'].split())} [{check['workload'] or 'once'}: {wording.sides(check)}, {share}]"

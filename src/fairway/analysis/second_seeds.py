"""The verdicts of two runs whose seeds differ, side by side: what is in both does not come from the choice of seeds."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairway.analysis import markdown, wording
from fairway.analysis.claims_table import figure_words, verdict_words
from fairway.analysis.tables import Document
from fairway.errors import InputError

_REMEDY = "publish it with make reference"


@dataclass(frozen=True)
class SecondSeedsRow:
    """One claim in both runs."""

    claim: str
    verdict: str
    second_verdict: str
    same: bool
    figures: str
    second_figures: str
    sample: str
    second_sample: str


def read_second(path: Path) -> Document:
    """Read another run's ``reference.json``; InputError if it is none."""
    try:
        reference = json.loads(path.read_text(encoding="utf-8"))
        claims = reference["tables"]["claims"]
        known = {"configuration": reference["origin"]["configuration"], "seed_numbers": claims["seed_numbers"]}
        return {**known, "claims_sha256": claims["claims_sha256"], "claims": claims["claims"]}
    except FileNotFoundError as error:
        raise InputError("no such file", remedy=_REMEDY, file=path) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError("not a published run", remedy=_REMEDY, file=path) from error


def second_seeds_document(configuration: str, claims: Document, second: Document, path: Path) -> Document:
    """Set the claims of a run of ``configuration`` beside those of the ``second`` one, which was read from ``path``.

    Raises:
        InputError: the second run answers other claims, or has a seed of the first.
    """
    if claims["claims_sha256"] != second["claims_sha256"]:
        raise InputError("answers another claims file", remedy="run it again with this claims file", file=path)
    shared = sorted(set(claims["seed_numbers"]) & set(second["seed_numbers"]))
    if shared:
        raise InputError(
            f"has seed {shared[0]}, as the other run has", remedy="run it with seeds that the other has not", file=path
        )
    return {
        "configurations": [configuration, second["configuration"]],
        "seed_numbers": [claims["seed_numbers"], second["seed_numbers"]],
        "rows": [dataclasses.asdict(row) for row in _rows(claims["claims"], second["claims"])],
    }


def second_seeds_markdown(document: Document) -> str:
    """The page: one line a claim."""
    rows = [SecondSeedsRow(**record) for record in document["rows"]]
    first, second = document["configurations"]
    seeds, second_seeds = (wording.ranges(numbers) for numbers in document["seed_numbers"])
    head = (
        f"The claims under seeds {seeds} (`config/{first}`) and under seeds {second_seeds} (`config/{second}`), which "
        f"share none: {sum(row.same for row in rows)} of {len(rows)} get the same verdict. Windows of a recorded trace "
        "are the same in both."
    )
    header = ("Claim", "Verdict", "With the second seeds", "Here", "With the second seeds")
    lines = [
        (
            f"`{row.claim}`",
            row.verdict,
            row.second_verdict if row.same else f"**{row.second_verdict}**",
            f"{row.figures or '-'} ({row.sample or 'exact'})",
            f"{row.second_figures or '-'} ({row.second_sample or 'exact'})",
        )
        for row in rows
    ]
    return f"{head}\n\n{markdown.table(header, lines)}\n"


def _rows(claims: list[dict[str, Any]], others: list[dict[str, Any]]) -> Iterator[SecondSeedsRow]:
    for claim, other in zip(claims, others, strict=True):
        yield SecondSeedsRow(
            claim=claim["id"],
            verdict=verdict_words(claim),
            second_verdict=verdict_words(other),
            same=claim["verdict"] == other["verdict"],
            figures=_figures(claim),
            second_figures=_figures(other),
            sample=claim["sample"],
            second_sample=other["sample"],
        )


def _figures(claim: Mapping[str, Any]) -> str:
    return "; ".join(figure_words(claim))

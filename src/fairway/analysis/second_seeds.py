"""The verdicts of two runs side by side, whose seeds or corpora differ.

What is in both comes neither from the choice of seeds nor, with other corpora, from what embedded ones leave out.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
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
    """One claim in both runs; the second one has other seeds or another corpus."""

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
        known = {name: claims[name] for name in ("seed_numbers", "corpora", "claims_sha256", "claims")}
        return {"configuration": reference["origin"]["configuration"], **known}
    except FileNotFoundError as error:
        raise InputError("no such file", remedy=_REMEDY, file=path) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError("not a published run", remedy=_REMEDY, file=path) from error


def second_seeds_document(configuration: str, claims: Document, second: Document, path: Path) -> Document:
    """Set the claims of a run of ``configuration`` beside those of the ``second`` one, which was read from ``path``.

    Raises:
        InputError: the second run answers other claims, or has a seed of the first.
    """
    _check_same_claims(claims, second, path)
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


def corpora_document(configuration: str, claims: Document, other: Document, path: Path) -> Document:
    """Set the claims of a run of ``configuration`` beside those of one on another corpus, read from ``path``.

    Raises:
        InputError: the other run answers other claims, or has the same corpus.
    """
    _check_same_claims(claims, other, path)
    corpora = [claims["corpora"], other["corpora"]]
    if set(corpora[0]) & set(corpora[1]):
        raise InputError(f"has the same corpus, {', '.join(corpora[1])}", remedy="name a run on another one", file=path)
    return {
        "configurations": [configuration, other["configuration"]],
        "corpora": corpora,
        "seed_numbers": [claims["seed_numbers"], other["seed_numbers"]],
        "rows": [dataclasses.asdict(row) for row in _rows(claims["claims"], other["claims"])],
    }


def corpora_markdown(document: Document) -> str:
    """The page: one line a claim."""
    rows = [SecondSeedsRow(**record) for record in document["rows"]]
    runs = [
        f"{' and '.join(corpora)} (`config/{name}`, seeds {wording.ranges(seeds)})"
        for name, corpora, seeds in zip(
            document["configurations"], document["corpora"], document["seed_numbers"], strict=True
        )
    ]
    head = (
        f"The claims on {runs[0]}, and on {runs[1]}: {sum(row.same for row in rows)} of {len(rows)} get the same "
        "verdict."
    )
    return _page(head, "on the other corpus", rows)


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
    return _page(head, "with the second seeds", rows)


def _page(head: str, other: str, rows: Sequence[SecondSeedsRow]) -> str:
    header = ("Claim", "Verdict", f"Verdict {other}", "Figures", f"Figures {other}")
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


def _check_same_claims(claims: Document, other: Document, path: Path) -> None:
    if claims["claims_sha256"] != other["claims_sha256"]:
        raise InputError("answers another claims file", remedy="run it again with this claims file", file=path)


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

"""Everything of a run that the paper says, in words and tables: the one file that its text takes numbers from."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairway.analysis import wording
from fairway.analysis.blocks import Block, blocks_of
from fairway.analysis.claims_table import check_lines, figure_words, head_lines, readers_table, verdict_words
from fairway.analysis.summary import pages, read_summary
from fairway.analysis.tables import Document
from fairway.analysis.verdicts import VERDICTS
from fairway.errors import InputError
from fairway.publication import setting
from fairway.traces.catalogue import Catalogue

# The metrics' page has every selection of requests; the paper shows whole runs and what claims are decided on.
_PHASES = frozenset({"all", "spike"})
_KINDS = frozenset({"all", "hit", "miss"})


@dataclass(frozen=True)
class Sources:
    """The files of a run, and of the repository, that the paper rests on."""

    summary: Path
    calibrations: tuple[Path, ...]
    profiles: tuple[Path, ...]
    figures: tuple[Path, ...]  # PDF
    captions: tuple[Path, ...]  # <figure>.rst of each figure
    parity: Path
    configuration: Path  # folder with the workloads


def paper_facts(sources: Sources) -> Document:
    """Put together what the paper says of a run.

    Raises:
        InputError: a file is missing, edited, or not what it should be.
    """
    summary = read_summary(sources.summary)
    claims = summary["claims"]
    calibrations = setting.read_calibrations(sources.calibrations)
    catalogue = Catalogue(sources.configuration)
    return {
        "claims": _claims(claims),
        "parameters": setting.parameters(calibrations, claims),
        "parity": setting.read_parity(sources.parity),
        "workloads": _json(setting.workloads_table(list(calibrations), catalogue)),
        "calibration": _json(setting.calibration_table(calibrations, catalogue)),
        "profiles": [_profile(profile) for profile in setting.read_profiles(sources.profiles)],
        "figures": [_figure(file, sources.captions) for file in sources.figures],
        "tables": {name: [_json(block) for block in blocks_of(page)] for name, page in _other_pages(summary).items()},
    }


def _claims(document: Document) -> Document:
    counts = Counter(str(claim["verdict"]) for claim in document["claims"])
    causes = {cause["claim"]: cause for cause in document["causes"]}
    table = next(block for block in blocks_of(readers_table(document)) if block.kind == "table")
    return {
        "head": head_lines(document),
        "count": len(document["claims"]),
        "edited": sum(bool(claim["edits"]) for claim in document["claims"]),
        "counts": [{"verdict": verdict, "count": counts[verdict]} for verdict in VERDICTS if counts[verdict]],
        "seeds": document["seeds"],
        "evidence": ", ".join(document["evidence"]) or "nothing",
        "profiles": ", ".join(document["profiles"]) or "none",
        "corpora": ", ".join(document["corpora"]) or "none",
        "modelled": any(profile.endswith("(modelled)") for profile in document["profiles"]),
        "embedded": "embedded" in document["corpora"],
        "table": _json(table),
        "answers": {claim["id"]: _answer(claim, causes.get(claim["id"])) for claim in document["claims"]},
    }


def _answer(claim: Mapping[str, Any], cause: Mapping[str, Any] | None) -> Document:
    return {
        "says": claim["says"],
        "verdict": verdict_words(claim),
        "paper": wording.paper(claim["paper"]),
        "here": "; ".join(figure_words(claim)) or claim["detail"],
        "note": claim["note"],
        "checks": [list(cells[1:]) for cells in check_lines(claim)],
        "cause": None if cause is None else dict(cause),
    }


def _other_pages(summary: Document) -> Mapping[str, str]:
    """Render the tables beside the claims, of the metrics the lines that the paper has room for."""
    metrics = summary.get("metrics")
    if metrics is not None:
        summary = {**summary, "metrics": {**metrics, **{name: _shown(metrics[name]) for name in ("rows", "bounds")}}}
    return {name: page for name, page in pages(summary).items() if name != "claims"}


def _shown(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["phase"] in _PHASES and row["kind"] in _KINDS and row["prompts"] == "all"]


def _profile(profile: Document) -> Document:
    words = {name: str(profile[name]) for name in ("name", "device", "model", "evidence", "source")}
    return {**words, "table": _json(setting.profile_table(profile))}


def _figure(file: Path, captions: Sequence[Path]) -> Document:
    found = [caption for caption in captions if caption.stem == file.stem]
    if not found:
        raise InputError("a figure without a caption", remedy=f"name its {file.stem}.rst in --captions", file=file)
    caption = found[0].read_text(encoding="utf-8")
    return {"name": file.stem, "file": file.name, "caption": " ".join(caption.replace("``", "`").split())}


def _json(block: Block) -> Document:
    return dataclasses.asdict(block)

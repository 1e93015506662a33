"""The artifact appendix's table: each claim with figure, target, command, time, hardware, expected range, evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairway.analysis import markdown, wording
from fairway.analysis.claims_table import evidence_words, verdict_words
from fairway.analysis.readme import replace_between
from fairway.analysis.tables import Document, read_document
from fairway.errors import InputError
from fairway.yamlfile import read_yaml

APPENDIX_MARK = "appendix table"
_FIGURES = "figures/"
_EXACT, _PAGE = "results/exact.json", "results/claims/{}/claims.md"
_REMEDY = "make appendix CONFIG=..."


def read_targets(path: Path) -> dict[str, list[str]]:
    """Read which files show each claim, its own page the last; InputError if it is no such list."""
    values = read_yaml(path).values
    targets = values.get("targets") if isinstance(values, dict) else None
    if not isinstance(targets, dict) or not all(isinstance(files, list) for files in targets.values()):
        raise InputError(
            "has no lists of targets", file=path, remedy="give `targets:` a list of files for each claim's id"
        )
    return {claim: files if _EXACT in files else [*files, _PAGE.format(claim)] for claim, files in targets.items()}


def read_times(path: Path) -> Document:
    """Read how long the jobs behind each claim's targets took, and where; InputError if there is none."""
    return read_document(path, frozenset({"processor", "configuration", "targets"}), _REMEDY)


def appendix_table(
    targets: Mapping[str, Sequence[str]], claims: Document, origin: Mapping[str, Any], times: Document
) -> str:
    """Render the table: one line a claim, in the claims' own order.

    Args:
        targets: the files that show a claim, by the claim's id.
        claims: the claims table of the reference run.
        origin: what made the reference.
        times: seconds of the jobs behind each claim's targets.

    Raises:
        InputError: targets and claims are not of the same claims, or times and reference of other configurations.
    """
    configuration = origin["configuration"]
    if times["configuration"] != configuration:
        problem = f"times of {times['configuration']} stand beside values of {configuration}"
        raise InputError(problem, remedy=_REMEDY)
    ids = [claim["id"] for claim in claims["claims"]]
    if sorted(ids) != sorted(targets):
        odd = ", ".join(sorted(set(ids) ^ set(targets)))
        raise InputError(f"the appendix and the claims are not about the same claims: {odd}", remedy="name each once")
    command = f"snakemake --cores 1 --configfile config/{configuration} --"  # without dashes a target is a file of it
    lines = [
        (
            f"`{claim['id']}`",
            _names(file for file in targets[claim["id"]] if file.startswith(_FIGURES)),
            _names(file for file in targets[claim["id"]] if not file.startswith(_FIGURES)),
            f"`{command} {' '.join(targets[claim['id']])}`",
            _time(times, claim["id"]),
            "CPU",
            f"{verdict_words(claim)}; {_expected(claim)}".rstrip("; "),
            evidence_words(claim, claims["corpora"]),
        )
        for claim in claims["claims"]
    ]
    head = (
        "A command makes the figure, if there is one, and the target, which has verdict, values and checks. Its time "
        f"is that of all its jobs where nothing is there yet, on one core ({times['processor']}). Expected are verdict "
        "and, for each value, the 95% interval over seeds, from the lowest to the highest of the claim's workloads, "
        f"in the [reference of the same configuration](docs/reference/{origin['name']}/claims.md). With the versions "
        "of the lock file every value is the reference's to the last digit."
    )
    columns = ("Claim", "Figure", "Target", "Command", "Time", "Hardware", "Expected range", "Evidence")
    return f"{head}\n\n{markdown.table(columns, lines)}"


def readme_with_appendix(text: str, table: str, file: Path) -> str:
    """Return the README with this table; InputError if it has no place for it."""
    return replace_between(text, APPENDIX_MARK, table, file)


def _expected(claim: Mapping[str, Any]) -> str:
    bounds: dict[str, list[float]] = {}
    for figure in claim["figures"]:
        ends = (figure["low"], figure["high"])
        bounds.setdefault(figure["name"], []).extend(figure["point"] if end is None else end for end in ends)
    return "; ".join(wording.figure_range(name, min(ends), max(ends)) for name, ends in bounds.items())


def _names(files: Iterable[str]) -> str:
    return ", ".join(files) or "-"


def _time(times: Document, claim: str) -> str:
    seconds = times["targets"].get(claim)
    if seconds is None:
        return "not measured"
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"

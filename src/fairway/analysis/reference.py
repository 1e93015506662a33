"""Reference results: the tables of one run, kept in the repository with what made them, and shown in the README."""

from __future__ import annotations

import dataclasses
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fairway.analysis.claims_table import readers_table
from fairway.analysis.readme import replace_between
from fairway.analysis.summary import pages
from fairway.analysis.tables import Document
from fairway.files import sha256, write_json, write_text

CLAIMS_MARK, REFERENCE_MARK = "claims table", "reference run"
_LIBRARIES = ("matplotlib", "numpy", "pandas", "pyarrow", "seaborn", "snakemake")


@dataclass(frozen=True)
class Origin:
    """What made a reference."""

    name: str
    date: str
    commit: str
    configuration: str  # file name
    configuration_sha256: str
    versions: dict[str, str]


def origin_of(name: str, configuration: Path, date: str, commit: str) -> Origin:
    """Describe a run of this configuration file in this environment."""
    versions = {"python": platform.python_version(), **{library: version(library) for library in _LIBRARIES}}
    return Origin(name, date, commit, configuration.name, sha256(configuration), versions)


def reference_document(summary: Document, origin: Origin) -> Document:
    """Put a summary and its origin together."""
    return {"origin": dataclasses.asdict(origin), "tables": dict(summary)}


def write_reference(folder: Path, reference: Document) -> None:
    """Write ``reference.json`` and a page per table into ``folder``; nothing else of them is kept there."""
    write_json(folder / "reference.json", dict(reference))
    for name, page in pages(reference["tables"]).items():
        write_text(folder / f"{name}.md", f"{origin_line(reference['origin'])}\n\n{page}")


def readme_with(text: str, reference: Document, file: Path) -> str:
    """Return the README with the reference's claims table and origin; InputError if it has no place for them."""
    table = readers_table(reference["tables"]["claims"])
    text = replace_between(text, REFERENCE_MARK, readme_line(reference), file)
    return replace_between(text, CLAIMS_MARK, table, file)


def readme_line(reference: Document) -> str:
    """Say in the README which run its table is of."""
    origin = reference["origin"]
    listed = ", ".join(f"[{name}](docs/reference/{origin['name']}/{name}.md)" for name in pages(reference["tables"]))
    return f"{origin_line(origin)} All tables of that run: {listed}."


def origin_line(origin: dict[str, Any]) -> str:
    """Say in one line what made a reference."""
    versions = ", ".join(f"{name} {number}" for name, number in origin["versions"].items())
    commit, changed, _ = origin["commit"].partition("-dirty")
    return (
        f"Reference run of `config/{origin['configuration']}` (SHA-256 {origin['configuration_sha256'][:12]}) on "
        f"{origin['date']} at commit {commit[:12]}{' with changes' if changed else ''}; {versions}."
    )

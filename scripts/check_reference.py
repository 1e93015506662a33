"""Compare a fresh run with the reference results that the repository keeps; status 1 at any difference."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.fresh import Comparison, compare_with_reference
from fairway.analysis.reference import origin_of
from fairway.analysis.summary import read_summary
from fairway.analysis.tables import FROM_REPOSITORY, Document, read_document
from fairway.command import positive, run
from fairway.errors import InputError

_REMEDY = "Delete it and run the workflow, which makes it again."


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Compare every value of a run's tables with those of the kept reference of the same configuration, "
        "without any tolerance: which claims changed their verdict, which values moved and by how much. Ends with "
        "status 1 if anything differs or was edited."
    )
    parser.add_argument("--summary", type=Path, required=True, help="summary.json of the run")
    parser.add_argument("--config", type=Path, required=True, help="configuration file of the run")
    parser.add_argument("--references", type=Path, required=True, help="folder of all references")
    parser.add_argument("--most", type=positive, default=25, help="how many moved values to print (default: 25)")
    arguments = parser.parse_args()
    reference = read_reference(arguments.references, arguments.config)
    remarks = differences_of_origin(reference, arguments.config)
    compared = compare_with_reference(reference["tables"], read_summary(arguments.summary))
    for line in [*remarks, *lines_of(compared, arguments.most)]:
        print(line)
    return 0 if compared.agrees else 1


def read_reference(references: Path, configuration: Path) -> Document:
    """Read the reference of a configuration; InputError if none is kept."""
    file = references / configuration.stem / "reference.json"
    if not file.exists():
        kept = ", ".join(f"config/{file.parent.name}.yaml" for file in sorted(references.glob("*/reference.json")))
        raise InputError(f"no reference of {configuration} is kept here", remedy=f"kept are those of {kept}", file=file)
    return read_document(file, frozenset({"origin", "tables"}), FROM_REPOSITORY)


def differences_of_origin(reference: Document, configuration: Path) -> list[str]:
    """Say what made this run and the reference unlike, which may be why values differ."""
    kept = reference["origin"]
    here = origin_of(kept["name"], configuration, kept["date"], kept["commit"])
    lines = [f"Reference: {configuration.name} on {kept['date']} at commit {kept['commit'][:12]}."]
    if here.configuration_sha256 != kept["configuration_sha256"]:
        lines.append(f"note: {configuration} is not the configuration of the reference any more.")
    others = [
        f"{name} {number} (reference: {kept['versions'].get(name)})"
        for name, number in here.versions.items()
        if number != kept["versions"].get(name)
    ]
    if others:
        lines.append(f"note: other versions here: {', '.join(others)}. Only those of the lock file must agree exactly.")
    return lines


def lines_of(compared: Comparison, most: int) -> list[str]:
    """Say what differs, verdicts first, then the values that moved furthest."""
    if compared.agrees:
        return [f"agrees: all {compared.compared:,} values are those of the reference, and so is every verdict."]
    values = compared.values
    lines = [f"EDITED after it was written: {one}. {_REMEDY}" for one in compared.edited]
    lines += [f"VERDICT CHANGED: {one}" for one in compared.verdicts]
    lines += [f"moved: {one}" for one in values[:most]]
    if len(values) > most:
        lines.append(f"and {len(values) - most:,} more that moved less; --most shows more of them.")
    told = f"{len(compared.verdicts)} verdicts and {len(values):,} of {compared.compared:,} values"
    edits = f"; {len(compared.edited)} results were edited" if compared.edited else ""
    return [*lines, f"DIFFERS: {told} are others than in the reference{edits}."]


if __name__ == "__main__":
    run(main)

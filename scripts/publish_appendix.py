"""Put the table of the artifact appendix into a README."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.appendix import appendix_table, read_targets, read_times, readme_with_appendix
from fairway.analysis.tables import read_document
from fairway.command import run
from fairway.files import write_text


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Render each claim with its figure, target, command, time, hardware, expected range and evidence, "
        "between the README's markers. Nothing of the table is typed: values come from a reference, times from what "
        "was measured."
    )
    parser.add_argument("--targets", type=Path, required=True, help="file that shows each claim (paper/appendix.yaml)")
    parser.add_argument("--reference", type=Path, required=True, help="reference.json of the run that is shown")
    parser.add_argument("--times", type=Path, required=True, help="JSON of time_targets.py")
    parser.add_argument("--readme", type=Path, required=True, help="README.md to change")
    arguments = parser.parse_args()
    reference = read_document(arguments.reference, frozenset({"origin", "tables"}), "make reference CONFIG=...")
    table = appendix_table(
        read_targets(arguments.targets), reference["tables"]["claims"], reference["origin"], read_times(arguments.times)
    )
    readme = arguments.readme
    write_text(readme, readme_with_appendix(readme.read_text(encoding="utf-8"), table, readme))
    return 0


if __name__ == "__main__":
    run(main)

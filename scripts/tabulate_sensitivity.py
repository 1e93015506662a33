"""Tabulate the sensitivity to the three parameters."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.options import add_study_options, study_of
from fairway.analysis.sensitivity import sensitivity_document, sensitivity_markdown, sensitivity_rows
from fairway.analysis.tables import write_table
from fairway.command import run


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Write sensitivity.csv, sensitivity.md and sensitivity.json: the spike with one parameter moved."
    )
    add_study_options(parser)
    parser.add_argument("--out-dir", type=Path, required=True, help="folder for the three files of the table")
    arguments = parser.parse_args()
    document = sensitivity_document(sensitivity_rows(study_of(arguments)))
    write_table(arguments.out_dir, "sensitivity", document, sensitivity_markdown(document))
    return 0


if __name__ == "__main__":
    run(main)

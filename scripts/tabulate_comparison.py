"""Tabulate one policy against all others."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.comparison import comparison_document, comparison_markdown, comparison_rows
from fairway.analysis.options import add_study_options, study_of
from fairway.analysis.tables import write_table
from fairway.command import run


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Write comparison.csv, comparison.md and comparison.json: ratios of median and p99 with intervals "
        "and verdicts."
    )
    add_study_options(parser)
    parser.add_argument("--policy", default="fairway", help="policy to compare (default: %(default)s)")
    parser.add_argument("--out-dir", type=Path, required=True, help="folder for the three files of the table")
    arguments = parser.parse_args()
    study = study_of(arguments)
    document = comparison_document(comparison_rows(study, arguments.policy), study)
    write_table(arguments.out_dir, "comparison", document, comparison_markdown(document))
    return 0


if __name__ == "__main__":
    run(main)

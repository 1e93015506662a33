"""Tabulate the regime map."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.options import add_study_options, study_of
from fairway.analysis.regimes import read_places, regime_rows, regimes_document, regimes_markdown
from fairway.analysis.tables import write_table
from fairway.command import run


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Write regimes.csv, regimes.md and regimes.json: who wins in each configuration of the sweep."
    )
    add_study_options(parser)
    parser.add_argument("--places", type=Path, required=True, help="folder of <workload>.json: spread, load, hot share")
    parser.add_argument("--out-dir", type=Path, required=True, help="folder for the three files of the table")
    arguments = parser.parse_args()
    study = study_of(arguments)
    places = read_places(arguments.places, study.collection.found_workloads)
    document = regimes_document(regime_rows(study, places), study)
    write_table(arguments.out_dir, "regimes", document, regimes_markdown(document))
    return 0


if __name__ == "__main__":
    run(main)

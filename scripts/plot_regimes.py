"""Draw the regime map."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.figures import regimes
from fairway.analysis.options import add_picture_options, add_study_options, study_of
from fairway.analysis.regimes import read_places
from fairway.command import run


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Draw which policy has the lowest p99 and which the lowest median in each configuration of a sweep."
    )
    add_study_options(parser)
    parser.add_argument("--places", type=Path, required=True, help="folder of <workload>.json: spread, load, hot share")
    add_picture_options(parser)
    arguments = parser.parse_args()
    study = study_of(arguments)
    places = read_places(arguments.places, study.collection.found_workloads)
    regimes.plot(study, places, arguments.out_pdf, arguments.out_svg)
    return 0


if __name__ == "__main__":
    run(main)

"""Draw the matrix of targets."""

from __future__ import annotations

import argparse

from fairway.analysis.figures import targets
from fairway.analysis.options import add_picture_options, add_study_options, study_of
from fairway.command import run


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Draw in which phases each policy has about LPM's median and FCFS's p99, one panel a workload."
    )
    add_study_options(parser)
    add_picture_options(parser)
    arguments = parser.parse_args()
    targets.plot(study_of(arguments), arguments.out_pdf, arguments.out_svg)
    return 0


if __name__ == "__main__":
    run(main)

"""Draw the median-p99 plane."""

from __future__ import annotations

import argparse

from fairway.analysis.figures import plane
from fairway.analysis.options import add_picture_options, add_study_options, study_of
from fairway.command import run


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Draw each policy's median against its p99, with intervals, one panel a workload."
    )
    add_study_options(parser)
    add_picture_options(parser)
    arguments = parser.parse_args()
    plane.plot(study_of(arguments), arguments.out_pdf, arguments.out_svg)
    return 0


if __name__ == "__main__":
    run(main)

"""Draw the sensitivity to the three parameters."""

from __future__ import annotations

import argparse

from fairway.analysis.figures import sensitivity
from fairway.analysis.options import add_picture_options, add_study_options, study_of
from fairway.command import run


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Draw the spike's median and p99 with one parameter moved, relative to the default parameters."
    )
    add_study_options(parser)
    add_picture_options(parser)
    arguments = parser.parse_args()
    sensitivity.plot(study_of(arguments), arguments.out_pdf, arguments.out_svg)
    return 0


if __name__ == "__main__":
    run(main)

"""Draw the ablations by prompt length."""

from __future__ import annotations

import argparse

from fairway.analysis.figures import ablations
from fairway.analysis.options import add_picture_options, add_study_options, study_of
from fairway.command import run


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Draw the p99 of short and of long prompts under Fairway and its ablations."
    )
    add_study_options(parser)
    add_picture_options(parser)
    arguments = parser.parse_args()
    ablations.plot(study_of(arguments), arguments.out_pdf, arguments.out_svg)
    return 0


if __name__ == "__main__":
    run(main)

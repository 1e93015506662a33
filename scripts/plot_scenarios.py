"""Draw p99 over the scenarios against the best baseline."""

from __future__ import annotations

import argparse

from fairway.analysis.figures import scenarios
from fairway.analysis.options import add_picture_options, add_study_options, study_of
from fairway.command import run


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Draw a policy's p99 in each scenario beside that of the best baseline that starves nobody, and "
        "the ratio of the two."
    )
    add_study_options(parser)
    parser.add_argument("--policy", default="fairway", help="policy to compare (default: %(default)s)")
    add_picture_options(parser)
    arguments = parser.parse_args()
    scenarios.plot(study_of(arguments), arguments.policy, arguments.out_pdf, arguments.out_svg)
    return 0


if __name__ == "__main__":
    run(main)

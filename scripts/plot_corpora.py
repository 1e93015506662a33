"""Draw real corpora beside the embedded ones."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.figures import corpora
from fairway.analysis.options import add_picture_options
from fairway.command import run


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Draw the distribution of each statistic of the data card, real corpora beside embedded ones."
    )
    parser.add_argument("--curves", required=True, type=Path, help="distributions that describe_corpora.py wrote")
    add_picture_options(parser)
    arguments = parser.parse_args()
    corpora.plot(arguments.curves, arguments.out_pdf, arguments.out_svg)
    return 0


if __name__ == "__main__":
    run(main)

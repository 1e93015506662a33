"""Draw the spread of uncached work in the queue."""

from __future__ import annotations

import argparse

from fairway.analysis.figures import spread
from fairway.analysis.options import add_picture_options, add_result_options, collection_of
from fairway.command import run


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Draw how far the uncached work of waiting requests lies apart, over hooks, one line a workload."
    )
    add_result_options(parser)
    add_picture_options(parser)
    arguments = parser.parse_args()
    spread.plot(collection_of(arguments), arguments.out_pdf, arguments.out_svg)
    return 0


if __name__ == "__main__":
    run(main)

"""Draw the flood."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.figures import flood
from fairway.analysis.options import add_picture_options
from fairway.command import run


def parse() -> argparse.Namespace:
    """Describe and read the command line."""
    parser = argparse.ArgumentParser(
        description="Draw the TTFT of every miss and the distribution of the hits' TTFT under a flood of hits."
    )
    parser.add_argument(
        "--rows-root", type=Path, required=True, help="folder of the rows, <workload>/<policy> below it"
    )
    parser.add_argument("--workload", required=True, help="workload to draw")
    parser.add_argument("--policies", nargs="+", required=True, help="policies to draw, one line each")
    add_picture_options(parser)
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    flood.plot(arguments.rows_root, arguments.workload, arguments.policies, arguments.out_pdf, arguments.out_svg)
    return 0


if __name__ == "__main__":
    run(main)

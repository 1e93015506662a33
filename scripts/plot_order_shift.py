"""Draw how an order moves from hits first to arrival as the queue grows."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.figures import order_shift
from fairway.analysis.options import add_picture_options
from fairway.command import run


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Draw the rank correlation of a policy's order with arrival and with LPM's against the queue's "
        "length, over all hooks and along one spike."
    )
    parser.add_argument(
        "--rows-root", type=Path, required=True, help="folder of the rows, <workload>/<policy> below it"
    )
    parser.add_argument("--workload", required=True, help="workload to draw; it has a spike")
    parser.add_argument("--policy", default="fairway", help="policy to draw (default: %(default)s)")
    add_picture_options(parser)
    arguments = parser.parse_args()
    order_shift.plot(arguments.rows_root, arguments.workload, arguments.policy, arguments.out_pdf, arguments.out_svg)
    return 0


if __name__ == "__main__":
    run(main)

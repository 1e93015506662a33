"""Draw simulated and measured TTFT side by side."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.figures import measured_runs
from fairway.analysis.measured import read_comparison
from fairway.analysis.options import add_picture_options
from fairway.command import run


def main() -> int:
    parser = argparse.ArgumentParser(description="Draw p50 and p99 of TTFT, simulated and measured, with the spread.")
    parser.add_argument("--tables", required=True, nargs="+", type=Path, help="tables of compare_measured.py (JSON)")
    add_picture_options(parser)
    arguments = parser.parse_args()
    measured_runs.plot(list(map(read_comparison, arguments.tables)), arguments.out_pdf, arguments.out_svg)
    return 0


if __name__ == "__main__":
    run(main)

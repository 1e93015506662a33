"""Measure where workloads lie on the regime map."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from fairway.command import in_step, run, spare_pandas
from fairway.files import write_sealed
from fairway.regime import measure_regime


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Write the spread of uncached work, the load and the share of hot work of one phase of workloads, "
        "measured from FCFS's rows and the headers of their traces. --rows, --traces and --out stand once for each "
        "workload, in the same order."
    )
    parser.add_argument("--rows", action="append", type=Path, required=True, help="folder of FCFS's rows on a workload")
    parser.add_argument(
        "--traces", action="append", type=Path, nargs="+", required=True, help="its traces, headers beside them"
    )
    parser.add_argument("--out", action="append", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--phase", required=True, help="phase to measure, such as spike")
    arguments = parser.parse_args()
    spare_pandas()
    for rows, traces, out in in_step(arguments, "rows", "traces", "out"):
        write_sealed(out, dataclasses.asdict(measure_regime(rows, traces, arguments.phase)))
    return 0


if __name__ == "__main__":
    run(main)

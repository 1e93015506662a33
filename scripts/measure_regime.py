"""Measure where a workload lies on the regime map."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from fairway.command import run
from fairway.files import write_sealed
from fairway.regime import measure_regime


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Write the spread of uncached work, the load and the share of hot work of one phase of a workload, "
        "measured from FCFS's rows and the headers of their traces."
    )
    parser.add_argument("--rows", type=Path, required=True, help="folder of FCFS's rows on the workload")
    parser.add_argument("--traces", type=Path, nargs="+", required=True, help="the traces, headers beside them")
    parser.add_argument("--phase", required=True, help="phase to measure, such as spike")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    arguments = parser.parse_args()
    regime = measure_regime(arguments.rows, arguments.traces, arguments.phase)
    write_sealed(arguments.out, dataclasses.asdict(regime))
    return 0


if __name__ == "__main__":
    run(main)

"""Set measured runs beside the simulation of the same traces."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.measured import about, compare_all, measured_folders, write_comparison
from fairway.command import file_name, run


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Compare p50 and p99 of TTFT and the hit rate, simulated and measured, beside the spread of the "
        "repeats; write NAME.json, NAME.csv and NAME.md. Folders of rows end in <workload>/<policy>."
    )
    parser.add_argument("--simulated", required=True, nargs="+", type=Path, help="folders of simulated rows")
    parser.add_argument(
        "--at-speed", required=True, nargs="+", type=Path, help="folders of rows simulated at the runs' speed"
    )
    parser.add_argument("--measured", required=True, nargs="+", type=Path, help="lists that scripts/measure.py wrote")
    parser.add_argument("--out-dir", required=True, type=Path, help="folder of the three tables")
    parser.add_argument("--name", required=True, type=file_name, help="name of the three tables")
    arguments = parser.parse_args()
    measured = [folder for file in arguments.measured for folder in measured_folders(file)]
    rows = compare_all(arguments.simulated, arguments.at_speed, measured)
    write_comparison(rows, about(measured), arguments.out_dir, arguments.name)
    print((arguments.out_dir / f"{arguments.name}.md").read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    run(main)

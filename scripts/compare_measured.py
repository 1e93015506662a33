"""Set measured runs beside the simulation of the same traces."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.measured import about, compare, write_comparison
from fairway.analysis.tables import read_table
from fairway.command import run


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Compare p50 and p99 of TTFT and the hit rate, simulated and measured, beside the spread of the "
        "repeats; write NAME.json, NAME.csv and NAME.md. Folders of rows end in <workload>/<policy>."
    )
    parser.add_argument("--simulated", required=True, nargs="+", type=Path, help="folders of simulated rows")
    parser.add_argument("--measured", required=True, nargs="+", type=Path, help="lists that scripts/measure.py wrote")
    parser.add_argument("--out-dir", required=True, type=Path, help="folder of the three tables")
    parser.add_argument("--name", required=True, help="name of the three tables")
    arguments = parser.parse_args()
    lists = [read_table(file, frozenset({"folders"}), "measure again")["folders"] for file in arguments.measured]
    measured = [Path(folder) for folders in lists for folder in folders]
    rows = [
        row
        for folder in arguments.simulated
        for row in compare(*folder.parts[-2:], folder, [one for one in measured if one.parts[-2:] == folder.parts[-2:]])
    ]
    write_comparison(rows, about(measured[0]), arguments.out_dir, arguments.name)
    print((arguments.out_dir / f"{arguments.name}.md").read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    run(main)

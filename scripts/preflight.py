"""Check whether this machine can do a day of measuring, and say how long it takes."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import run
from fairway.errors import EXIT_BAD_INPUT
from fairway.measuring.day import budget, load_day
from fairway.measuring.preflight import checks

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Check versions, disk, memory, the GPU and its driver before a day of measuring, and print its "
        "budget of hours. Exit status 2 if anything fails. Run it with the Python of vLLM's environment."
    )
    parser.add_argument("--day", required=True, type=Path, help="configuration of measurements (YAML)")
    arguments = parser.parse_args()
    day = load_day(arguments.day, ROOT)
    print(budget(day, ROOT))
    found = list(checks(day, Path.cwd()))
    print(*found, sep="\n")
    return 0 if all(check.holds for check in found) else EXIT_BAD_INPUT


if __name__ == "__main__":
    run(main)

"""Add up how long the jobs behind each of the appendix's targets took in a run, from the run's benchmarks."""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import sys
from pathlib import Path

from fairway.analysis.appendix import read_targets
from fairway.command import run
from fairway.errors import InputError
from fairway.files import write_json
from fairway.ordering_time import machine


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Ask Snakemake which jobs each target of the appendix needs, and add up what they took in the run "
        "that lies in this folder (benchmarks/dag)."
    )
    parser.add_argument("--targets", type=Path, required=True, help="file that shows each claim (paper/appendix.yaml)")
    parser.add_argument("--config", type=Path, required=True, help="configuration of the run")
    parser.add_argument("--out", type=Path, required=True, help="JSON to write")
    arguments = parser.parse_args()
    targets = sorted(set(read_targets(arguments.targets).values()))
    seconds = {target: round(sum(map(_seconds, _benchmarks(target, arguments.config))), 1) for target in targets}
    document = {"processor": machine()["processor"], "configuration": arguments.config.name, "targets": seconds}
    write_json(arguments.out, document)
    return 0


def _benchmarks(target: str, configuration: Path) -> list[Path]:
    """Return the benchmarks of all jobs that a target needs."""
    options = ["--cores", "1", "--dry-run", "--forceall", "--quiet", "host", "--configfile", str(configuration)]
    planned = subprocess.run(
        [sys.executable, "-m", "snakemake", *options, "--", target], capture_output=True, text=True, encoding="utf-8"
    )
    if planned.returncode:
        raise InputError(f"Snakemake cannot plan {target}", remedy=planned.stderr.strip().splitlines()[-1])
    return [Path(file) for file in re.findall(r"^    benchmark: (\S+)$", planned.stdout, flags=re.MULTILINE)]


def _seconds(benchmark: Path) -> float:
    try:
        with benchmark.open(encoding="utf-8", newline="") as file:
            return sum(float(line["s"]) for line in csv.DictReader(file, delimiter="\t"))
    except FileNotFoundError as error:
        raise InputError("this job has not run here", file=benchmark, remedy="make reproduce CONFIG=...") from error


if __name__ == "__main__":
    run(main)

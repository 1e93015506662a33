"""How long the jobs behind a target of the appendix took, from a run's benchmarks."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from fairway.errors import InputError


def target_seconds(targets: Iterable[str], configuration: Path) -> dict[str, float]:
    """Add up, for each target, what the jobs that it needs took in the run that lies in this folder (benchmarks/dag).

    Raises:
        InputError: Snakemake cannot plan a target, or one of its jobs has not run here.
    """
    return {target: round(sum(map(_seconds, _benchmarks(target, configuration))), 1) for target in sorted(set(targets))}


def _benchmarks(target: str, configuration: Path) -> list[Path]:
    """Return the benchmarks of all jobs that a target needs."""
    options = ["--cores", "1", "--dry-run", "--forceall", "--quiet", "host", "--configfile", str(configuration)]
    planned = subprocess.run(
        [sys.executable, "-m", "snakemake", *options, "--", target],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
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

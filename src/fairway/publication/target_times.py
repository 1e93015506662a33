"""How long the jobs behind the targets of each claim in the appendix took, from a run's benchmarks."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from fairway.errors import InputError


def target_seconds(targets: Mapping[str, Sequence[str]], configuration: Path) -> dict[str, float]:
    """Make what is not there of each name's targets, and add up what the jobs behind them took (benchmarks/dag).

    Raises:
        InputError: Snakemake cannot make a target, or the benchmark of one of its jobs is not there.
    """
    _snakemake(sorted({file for files in targets.values() for file in files}), configuration)
    return {
        name: round(sum(map(_seconds, _benchmarks(files, configuration))), 1) for name, files in sorted(targets.items())
    }


def _benchmarks(targets: Sequence[str], configuration: Path) -> list[Path]:
    """Return the benchmarks of all jobs that targets need."""
    planned = _snakemake(targets, configuration, "--dry-run", "--forceall", "--quiet", "host")
    return [Path(file) for file in re.findall(r"^    benchmark: (\S+)$", planned, flags=re.MULTILINE)]


def _snakemake(targets: Sequence[str], configuration: Path, *options: str) -> str:
    """Run Snakemake in this folder and return what it printed."""
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--configfile", str(configuration), *options]
    done = subprocess.run([*command, "--", *targets], capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        problem = f"Snakemake cannot make {', '.join(targets)}"
        raise InputError(problem, remedy=(done.stderr.strip().splitlines() or ["run it by hand"])[-1])
    return done.stdout


def _seconds(benchmark: Path) -> float:
    try:
        with benchmark.open(encoding="utf-8", newline="") as file:
            return sum(float(line["s"]) for line in csv.DictReader(file, delimiter="\t"))
    except FileNotFoundError as error:
        remedy = "delete what the job makes, and run the workflow"
        raise InputError("this job's benchmark is not here", file=benchmark, remedy=remedy) from error

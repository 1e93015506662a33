"""Add up how long the jobs behind each of the appendix's targets took in a run, from the run's benchmarks."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.appendix import read_targets
from fairway.command import run
from fairway.files import write_json
from fairway.ordering_time import machine
from fairway.publication.target_times import target_seconds


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Ask Snakemake which jobs the targets of each claim in the appendix need, make those "
        "that are not there, and add up what all took in the run that lies in this folder (benchmarks/dag)."
    )
    parser.add_argument("--targets", type=Path, required=True, help="file that shows each claim (paper/appendix.yaml)")
    parser.add_argument("--config", type=Path, required=True, help="configuration of the run")
    parser.add_argument("--out", type=Path, required=True, help="JSON to write")
    arguments = parser.parse_args()
    seconds = target_seconds(read_targets(arguments.targets), arguments.config)
    document = {"processor": machine()["processor"], "configuration": arguments.config.name, "targets": seconds}
    write_json(arguments.out, document)
    return 0


if __name__ == "__main__":
    run(main)

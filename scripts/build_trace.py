"""Build a calibrated workload's trace."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.calibration import build_trace, read_calibration
from fairway.command import run
from fairway.traces import write_trace
from fairway.traces.catalogue import Reference
from fairway.traces.corpus import read_corpus
from fairway.traces.description import describe_trace, describe_window

WORKLOAD_HELP = "workload file (YAML), FILE#VARIANT for a variant of it, or sweep.yaml#NUMBER"


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Build the trace that a calibration ended on, in Mooncake's format, with a header file beside it "
        "(X.header.json for X.jsonl)."
    )
    parser.add_argument("--workload", required=True, type=Reference.parse, help=WORKLOAD_HELP)
    parser.add_argument(
        "--corpus", required=True, type=Path, help="corpus file of the workload; for mooncake any trace"
    )
    parser.add_argument("--calibration", required=True, type=Path, help="calibration file (JSON)")
    parser.add_argument("--out", required=True, type=Path, help="JSON-lines file to write")
    arguments = parser.parse_args()
    trace = build_trace(
        arguments.workload.load(), read_corpus(arguments.corpus), read_calibration(arguments.calibration)
    )
    write_trace(trace, arguments.out)
    print(f"{arguments.out}: {describe_trace(trace)}")
    if window := describe_window(trace):
        print(window)
    return 0


if __name__ == "__main__":
    run(main)

"""Write a trace in another kind of file."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import positive, refuse_overwriting, run
from fairway.traces import read_trace, write_trace
from fairway.traces.description import describe_trace


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Write a trace as Parquet (.parquet) or as Mooncake JSON lines (any other name), with its header. "
        "Every command that takes a trace takes either."
    )
    parser.add_argument("--trace", required=True, type=Path, help="file to read")
    parser.add_argument(
        "--block-tokens", type=positive, help="tokens a block, of a trace without a header (default 512)"
    )
    parser.add_argument("--out", required=True, type=Path, help="file to write")
    arguments = parser.parse_args()
    refuse_overwriting(arguments.out, arguments.trace)
    trace = read_trace(arguments.trace, block_tokens=arguments.block_tokens)
    write_trace(trace, arguments.out)
    print(f"{arguments.out}: {describe_trace(trace)}")
    return 0


if __name__ == "__main__":
    run(main)

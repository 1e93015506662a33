"""Hold the readable engine against vLLM's scheduler."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import positive, run
from fairway.progress import Progress
from fairway.vllm import load_engine


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Run random cases, or one stored case, through the readable engine and vLLM's own scheduler under "
        "one virtual clock, and compare every step. Ends with status 1 at a difference: its first step is shown "
        "with both sides, and the smallest trace that shows it is written."
    )
    parser.add_argument("--steps", type=positive, default=1_000_000, help="steps to compare (default: %(default)s)")
    parser.add_argument("--processes", type=positive, default=2, help="processes, one core each (default: %(default)s)")
    parser.add_argument("--case", type=Path, help="compare the case in this trace instead (one that this script wrote)")
    parser.add_argument("--chunks-dir", type=Path, help="folder of finished chunks of random cases, to go on from")
    parser.add_argument("--out-dir", type=Path, required=True, help="folder for parity.json, parity.md and differences")
    parser.add_argument("--date", default="a day not stated", help="date for the summary")
    parser.add_argument("--commit", default="unknown", help="state of this repository for the summary")
    arguments = parser.parse_args()
    load_engine()
    from fairway.parity import checks

    if arguments.case is not None:
        return checks.check_case(arguments.case)
    return checks.check_random_cases(
        checks.Extent(arguments.steps, arguments.processes, arguments.chunks_dir or arguments.out_dir / "chunks"),
        checks.Label(arguments.date, arguments.commit),
        arguments.out_dir,
        Progress("parity").update,
    )


if __name__ == "__main__":
    run(main)

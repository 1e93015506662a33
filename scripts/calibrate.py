"""Calibrate a workload for one seed."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.calibration import calibrate, write_calibration
from fairway.command import not_negative, positive, run
from fairway.engine import Limits
from fairway.profile import load_profile
from fairway.progress import Progress
from fairway.traces.catalogue import Reference
from fairway.traces.corpus import read_corpus

ANY_CACHE_BLOCKS = 2  # calibration sets the cache's size itself

WORKLOAD_HELP = "workload file (YAML), FILE#VARIANT for a variant of it, or sweep.yaml#NUMBER"


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Find a workload's cache size and loads for one seed, from first-come-first-served replays alone. "
        "A seed that cannot be calibrated is replaced by seed + 1000, seed + 2000, ... and the file says so."
    )
    parser.add_argument("--workload", required=True, type=Reference.parse, help=WORKLOAD_HELP)
    parser.add_argument("--seed", required=True, type=not_negative, help="seed, from 0 on")
    parser.add_argument(
        "--corpus", required=True, type=Path, help="corpus file of the workload; for mooncake any trace"
    )
    parser.add_argument("--profile", required=True, help="step-time profile: a shipped name or a file")
    parser.add_argument("--budget-tokens", type=positive, default=2048, help="tokens a step (default 2048)")
    parser.add_argument("--max-num-seqs", type=positive, default=256, help="requests running at once (default 256)")
    parser.add_argument("--block-tokens", type=positive, default=16, help="tokens a cache block (default 16)")
    parser.add_argument("--out", required=True, type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    workload = arguments.workload.load()
    calibration = calibrate(
        workload,
        arguments.seed,
        read_corpus(arguments.corpus),
        load_profile(arguments.profile),
        Limits(ANY_CACHE_BLOCKS, arguments.budget_tokens, arguments.max_num_seqs, arguments.block_tokens),
        Progress(f"calibrate {workload.name}, seed {arguments.seed}").update,
    )
    write_calibration(calibration, arguments.out)
    print(f"{calibration.workload}, seed {calibration.seed}: {calibration.cache_blocks} cache blocks")
    return 0


if __name__ == "__main__":
    run(main)

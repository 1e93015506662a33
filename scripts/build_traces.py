"""Calibrate a workload and build its traces."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from fairway.calibration import calibrate, write_built_trace, write_calibration
from fairway.command import not_negative, positive, run
from fairway.engine import Limits
from fairway.profile import load_profile
from fairway.progress import Progress
from fairway.traces.catalogue import Reference
from fairway.traces.corpus import read_corpus
from fairway.traces.description import describe_trace, describe_window

KINDS = (".jsonl", ".parquet")  # to be read by others, and to be read fast
ANY_CACHE_BLOCKS = 2  # calibration sets the cache's size itself


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Find a workload's cache size and loads for each seed, from first-come-first-served replays alone, "
        "and build the traces that follow, in Mooncake's format and as Parquet, each with a header file beside it. A "
        "seed that cannot be calibrated is replaced by seed + 1000, seed + 2000, ... and the files say so."
    )
    parser.add_argument(
        "--workload",
        required=True,
        type=Reference.parse,
        help="workload file (YAML), FILE#VARIANT for a variant of it, or sweep.yaml#NUMBER",
    )
    parser.add_argument("--seeds", required=True, nargs="+", type=not_negative, help="seeds, from 0 on")
    parser.add_argument(
        "--corpus", required=True, type=Path, help="corpus file of the workload; for mooncake any trace"
    )
    parser.add_argument("--profile", required=True, help="step-time profile: a shipped name or a file")
    parser.add_argument("--budget-tokens", type=positive, default=2048, help="tokens a step (default 2048)")
    parser.add_argument("--max-num-seqs", type=positive, default=256, help="requests running at once (default 256)")
    parser.add_argument("--block-tokens", type=positive, default=16, help="tokens a cache block (default 16)")
    parser.add_argument("--calibrations-dir", required=True, type=Path, help="folder for <seed>.json")
    parser.add_argument("--traces-dir", required=True, type=Path, help="folder for <seed>.jsonl and <seed>.parquet")
    parser.add_argument(
        "--token-ids", action="store_true", help="write the prompts' token ids as well, <seed>.tokens.parquet"
    )
    arguments = parser.parse_args()
    workload = arguments.workload.load()
    corpus = read_corpus(arguments.corpus)
    profile = load_profile(arguments.profile)
    limits = Limits(ANY_CACHE_BLOCKS, arguments.budget_tokens, arguments.max_num_seqs, arguments.block_tokens)
    progress = Progress(f"traces of {workload.name}")
    for place, seed in enumerate(arguments.seeds):
        report = partial(progress.update_part, place, len(arguments.seeds))
        calibration = calibrate(workload, seed, corpus, profile, limits, report)
        write_calibration(calibration, arguments.calibrations_dir / f"{seed}.json")
        tokens = arguments.traces_dir / f"{seed}.tokens.parquet" if arguments.token_ids else None
        files = [arguments.traces_dir / f"{seed}{kind}" for kind in KINDS]
        trace = write_built_trace(workload, corpus, calibration, files, tokens)
        print(f"{workload.name}, seed {calibration.seed}: {calibration.cache_blocks} cache blocks")
        print("; ".join(filter(None, [str(describe_trace(trace)), describe_window(trace)])))
    return 0


if __name__ == "__main__":
    run(main)

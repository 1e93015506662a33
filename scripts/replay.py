"""Replay traces under one policy and write their rows."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fairway.command import in_step, positive, run, spare_pandas
from fairway.engine import EVICTIONS
from fairway.experiment import EVIDENCE_OF_BACKEND, Experiment, run_experiment
from fairway.policies import ANSWER_LIMIT_S, policy_names
from fairway.profile import load_profile, profile_names
from fairway.yamlfile import assignments


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Replay the traces of a workload under one policy in virtual time; write one row a request, one a "
        "hook, one a run. For several workloads --traces and --out-dir stand once for each, in the same order.",
        epilog=f"Policies: {', '.join(policy_names())} (klpm-<k> for any k). Shipped profiles: "
        f"{', '.join(profile_names())}.",
    )
    parser.add_argument("--policy", required=True, help="name of a registered policy")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a policy parameter, such as fast_weight=8"
    )
    parser.add_argument("--name", default="", help="name that the rows carry, for a variant (default: the policy's)")
    parser.add_argument(
        "--traces", action="append", required=True, nargs="+", type=Path, help="one file a seed, JSON lines or Parquet"
    )
    parser.add_argument("--profile", required=True, help="a shipped profile's name, or a .toml or .json file")
    parser.add_argument("--backend", default="sim", choices=sorted(EVIDENCE_OF_BACKEND), help="what runs the steps")
    parser.add_argument(
        "--cache-blocks", type=positive, help="blocks of the cache; default: what the trace's header says"
    )
    parser.add_argument("--budget-tokens", type=positive, default=2048, help="tokens a step (default 2048)")
    parser.add_argument("--max-num-seqs", type=positive, default=256, help="requests running at once (default 256)")
    parser.add_argument("--block-tokens", type=positive, default=16, help="tokens a block (default 16)")
    parser.add_argument(
        "--eviction", default="lru", choices=EVICTIONS, help="what the cache gives up first (default lru)"
    )
    parser.add_argument(
        "--answer-limit-s",
        type=positive,
        default=ANSWER_LIMIT_S,
        help="seconds of computing that the policy may take for one answer (default %(default)g)",
    )
    parser.add_argument(
        "--out-dir", action="append", required=True, type=Path, help="folder of the Parquet files and their seal"
    )
    arguments = parser.parse_args()
    if arguments.backend == "sim":  # vLLM's own packages rest on pandas
        spare_pandas()
    experiment = Experiment(
        policy=arguments.policy,
        parameters=assignments(arguments.set, "--set"),
        profile=load_profile(arguments.profile),
        backend=arguments.backend,
        budget_tokens=arguments.budget_tokens,
        max_num_seqs=arguments.max_num_seqs,
        block_tokens=arguments.block_tokens,
        cache_blocks=arguments.cache_blocks,
        name=arguments.name,
        eviction=arguments.eviction,
        answer_limit_s=arguments.answer_limit_s,
    )
    for traces, folder in in_step(arguments, "traces", "out_dir"):
        for remark in run_experiment(experiment, traces, folder):
            print(remark, file=sys.stderr)
    return 0


if __name__ == "__main__":
    run(main)

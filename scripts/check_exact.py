"""Check what must hold exactly and write the answers by claim."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import not_negative, positive, run
from fairway.exact import exact_claims
from fairway.files import write_sealed_with_copy


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Run the worked examples and the overtaking bound over random queues; write the answers by claim."
    )
    parser.add_argument("--queues", type=positive, default=100_000, help="random queues (default 100,000)")
    parser.add_argument("--seed", type=not_negative, default=1, help="seed of the random queues (default 1)")
    parser.add_argument("--out", required=True, type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    claims = exact_claims(arguments.queues, arguments.seed)
    write_sealed_with_copy(arguments.out, claims)
    for name, claim in claims.items():
        print(f"{name}: {'holds' if claim['holds'] else 'does not hold'} ({claim['detail']})")
    return 0


if __name__ == "__main__":
    run(main)

"""Put the claims table of a run into the README."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.claims_table import read_document, readers_table
from fairway.analysis.readme import with_table
from fairway.command import run
from fairway.files import write_text


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Replace the claims table between the README's two markers by the one of a run."
    )
    parser.add_argument("--claims", type=Path, required=True, help="claims.json as answer_claims.py wrote it")
    parser.add_argument("--readme", type=Path, required=True, help="README.md to change")
    arguments = parser.parse_args()
    table = readers_table(read_document(arguments.claims))
    text = arguments.readme.read_text(encoding="utf-8")
    write_text(arguments.readme, with_table(text, table, arguments.readme))
    return 0


if __name__ == "__main__":
    run(main)

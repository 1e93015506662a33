"""Put the JSON of all tables into one document."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.summary import summarise
from fairway.command import run
from fairway.files import write_sealed


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Write one JSON document that holds every table, each under its name; all pages and the README are "
        "rendered from it."
    )
    parser.add_argument("--parts", type=Path, nargs="+", required=True, help="JSON files of tables: claims.json, ...")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    arguments = parser.parse_args()
    write_sealed(arguments.out, summarise(arguments.parts))
    return 0


if __name__ == "__main__":
    run(main)

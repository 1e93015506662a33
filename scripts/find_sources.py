"""Find out whether real data can be had."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from fairway.command import run
from fairway.files import write_json
from fairway.sources.found import find_sources
from fairway.sources.settings import read_sources


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Try once, for seconds, whether the sources of real data can be used, and write down what was "
        "found. The workflow asks this for `corpus: {kind: auto}` and takes embedded corpora where they cannot."
    )
    parser.add_argument("--sources", required=True, type=Path, help="sources file (YAML), as config/sources.yaml")
    parser.add_argument("--out", required=True, type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    found = find_sources(read_sources(arguments.sources))
    write_json(arguments.out, asdict(found))
    print("real data" if found.kind == "real" else f"notice: embedded corpora stand in for real ones: {found.reason}")
    return 0


if __name__ == "__main__":
    run(main)

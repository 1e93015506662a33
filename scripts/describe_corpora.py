"""Describe real corpora beside the embedded ones."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import not_negative, run
from fairway.files import write_json, write_text
from fairway.traces.corpora_card import card, curves, describe
from fairway.traces.corpus import read_corpus
from fairway.traces.workload import sec_content


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Compare real corpora with the embedded ones that follow them, by origin, length, sharing, "
        "popularity and spread, and write the data card's tables and what its figure draws."
    )
    parser.add_argument("--corpora", required=True, nargs="+", type=Path, help="files of real corpora")
    parser.add_argument("--workload", required=True, type=Path, help="workload file whose questions are asked")
    parser.add_argument("--seed", type=not_negative, default=1, help="seed of the embedded corpora (default 1)")
    parser.add_argument("--out-md", required=True, type=Path, help="Markdown file to write")
    parser.add_argument("--out-json", required=True, type=Path, help="file of the distributions to write (JSON)")
    arguments = parser.parse_args()
    content = sec_content(arguments.workload)
    described = [describe(read_corpus(path), arguments.seed, content) for path in arguments.corpora]
    write_text(arguments.out_md, card(described, arguments.seed))
    write_json(arguments.out_json, curves(described))
    return 0


if __name__ == "__main__":
    run(main)

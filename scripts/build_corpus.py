"""Make an embedded corpus."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import not_negative, run
from fairway.traces.corpus import MAKERS, make_corpus, write_corpus


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Make an embedded corpus with the lengths, sharing and popularity of real data, but no text: SEC "
        "filings, MuSiQue's questions (both JSON) or Mooncake's agent trace (in its own format, with a header file). "
        "Needs no network; the same seed gives the same bytes."
    )
    parser.add_argument("--corpus", default="sec", choices=list(MAKERS), help="which one (default sec)")
    parser.add_argument("--seed", required=True, type=not_negative, help="seed of the corpus, from 0 on")
    parser.add_argument("--out", required=True, type=Path, help="file to write: .json, for mooncake .jsonl")
    arguments = parser.parse_args()
    corpus = make_corpus(arguments.seed, arguments.corpus)
    write_corpus(corpus, arguments.out)
    print(corpus)
    return 0


if __name__ == "__main__":
    run(main)

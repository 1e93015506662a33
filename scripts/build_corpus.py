"""Make the embedded SEC-like corpus."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import not_negative, run
from fairway.traces.corpus import make_corpus, write_corpus


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Make the embedded SEC-like corpus: 64 filings whose lengths follow those of real 10-Q filings. "
        "Needs no network; the same seed gives the same bytes."
    )
    parser.add_argument("--seed", required=True, type=not_negative, help="seed of the corpus, from 0 on")
    parser.add_argument("--out", required=True, type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    corpus = make_corpus(arguments.seed)
    write_corpus(corpus, arguments.out)
    print(f"{len(corpus.filing_tokens)} filings, {sum(corpus.filing_tokens)} tokens ({corpus.kind})")
    return 0


if __name__ == "__main__":
    run(main)

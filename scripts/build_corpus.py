"""Make a corpus."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import not_negative, run
from fairway.sources.kinds import STANDS_IN
from fairway.traces.corpus import MAKERS, Corpus, make_corpus, write_corpus
from fairway.traces.filings import EMBEDDED


def build(arguments: argparse.Namespace) -> Corpus:
    if arguments.kind == EMBEDDED:
        return make_corpus(arguments.seed, arguments.corpus)
    if arguments.kind == "stand-in":
        return make_corpus(arguments.seed, arguments.corpus, STANDS_IN)
    # Imported late: an embedded corpus needs none of the packages that real data needs.
    from fairway.sources.build import build_real_corpus

    return build_real_corpus(
        arguments.corpus, arguments.seed, arguments.sources, arguments.filings, arguments.downloads
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Make a corpus of SEC filings, MuSiQue's questions (both JSON) or Mooncake's agent trace (in its "
        "own format, with a header file). An embedded one has the lengths, sharing and popularity of real data, but "
        "no text, and needs no network; the same seed gives the same bytes. A real one has its text's token ids."
    )
    parser.add_argument("--corpus", default="sec", choices=list(MAKERS), help="which one (default sec)")
    parser.add_argument(
        "--kind",
        default=EMBEDDED,
        choices=[EMBEDDED, "stand-in", "real"],
        help="embedded (default); stand-in is an embedded one that says that real data could not be had",
    )
    parser.add_argument("--seed", required=True, type=not_negative, help="seed of the corpus, from 0 on")
    parser.add_argument("--sources", type=Path, default=Path("config/sources.yaml"), help="sources file of real data")
    parser.add_argument("--filings", nargs="*", default=[], type=Path, help="texts that fetch_filing.py wrote")
    parser.add_argument("--downloads", type=Path, default=Path("data/downloads"), help="folder of downloads")
    parser.add_argument("--out", required=True, type=Path, help="file to write: .json, for mooncake .jsonl")
    arguments = parser.parse_args()
    corpus = build(arguments)
    write_corpus(corpus, arguments.out)
    print(corpus)
    return 0


if __name__ == "__main__":
    run(main)

"""Make a corpus of real data."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import not_negative, run
from fairway.sources.corpora import real_filings, real_questions
from fairway.sources.edgar.text import read_filing_text
from fairway.sources.mooncake import read_trace_source
from fairway.sources.musique import read_question_source
from fairway.sources.settings import read_sources
from fairway.sources.tokenizer import load_tokenizer
from fairway.traces.corpus import FILE_NAMES, Corpus, write_corpus


def build(arguments: argparse.Namespace) -> Corpus:
    sources = read_sources(arguments.sources)
    if arguments.corpus == "mooncake":
        return read_trace_source(sources.mooncake, arguments.downloads)
    tokenizer = load_tokenizer(sources.tokenizer)
    if arguments.corpus == "musique":
        return real_questions(*read_question_source(sources.musique), tokenizer, sources.musique.seed)
    return real_filings(map(read_filing_text, arguments.filings), tokenizer, arguments.seed)


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Make a corpus of real data, in the format of the embedded ones: SEC filings from their texts or "
        "MuSiQue's questions, both with their token ids beside them (sec.tokens.npy for sec.json), or a public trace "
        "in Mooncake's format."
    )
    parser.add_argument("--corpus", required=True, choices=list(FILE_NAMES), help="which one")
    parser.add_argument("--sources", required=True, type=Path, help="sources file (YAML), as config/sources.yaml")
    parser.add_argument("--filings", nargs="*", default=[], type=Path, help="for sec: texts that fetch_filing.py wrote")
    parser.add_argument("--downloads", type=Path, default=Path(), help="for mooncake: folder of downloads")
    parser.add_argument("--seed", required=True, type=not_negative, help="for sec: draws the excerpts of units")
    parser.add_argument("--out", required=True, type=Path, help="file to write: .json, for mooncake .jsonl")
    arguments = parser.parse_args()
    corpus = build(arguments)
    write_corpus(corpus, arguments.out)
    print(f"{corpus}, tokenizer {corpus.tokenizer}")
    return 0


if __name__ == "__main__":
    run(main)

"""One corpus of real data, by its name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fairway.sources.corpora import real_filings, real_questions
from fairway.sources.edgar.text import read_filing_text
from fairway.sources.mooncake import read_trace_source
from fairway.sources.musique import read_question_source
from fairway.sources.settings import read_sources
from fairway.sources.tokenizer import load_tokenizer
from fairway.traces.corpus import Corpus


def build_real_corpus(name: str, seed: int, sources_file: Path, filings: Iterable[Path], downloads: Path) -> Corpus:
    """Make the corpus ``name`` of what the sources file names; ``filings`` are texts of filings, for ``sec``.

    Raises:
        InputError: something is missing, or is not what it should be.
    """
    sources = read_sources(sources_file)
    if name == "mooncake":
        return read_trace_source(sources.mooncake, downloads / "mooncake")
    tokenizer = load_tokenizer(sources.tokenizer)
    if name == "musique":
        return real_questions(*read_question_source(sources.musique), tokenizer, sources.musique.seed)
    return real_filings(map(read_filing_text, filings), tokenizer, seed)

"""Corpora: what prompts are made of, as files with a checksum of their content."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from fairway import jsontext
from fairway.errors import InputError
from fairway.files import write_json
from fairway.traces.agent_trace import AgentTrace, read_agent_trace, write_agent_trace
from fairway.traces.checksum import content
from fairway.traces.corpus_text import DRAWN_BOS, TokenIds, read_text, text_fields
from fairway.traces.embedded_agents import make_agent_trace
from fairway.traces.filings import EMBEDDED, Filings, make_filings
from fairway.traces.prompts import BlockNumbers, Segment
from fairway.traces.questions import Questions, make_questions
from fairway.traces.settings import settings
from fairway.traces.token_blocks import SentBlocks, TokenBlocks, TokenSink
from fairway.yamlfile import YamlFile

Corpus = Filings | Questions | AgentTrace
C = TypeVar("C", Filings, Questions, AgentTrace)

MAKERS: dict[str, Callable[[int], Corpus]] = {
    "sec": make_filings,
    "musique": make_questions,
    "mooncake": make_agent_trace,
}
FILE_NAMES = {"sec": "sec.json", "musique": "musique.json", "mooncake": "mooncake.jsonl"}
_JSON_CORPORA: dict[str, type[Filings] | type[Questions]] = {"sec": Filings, "musique": Questions}
_REMEDY = "make the corpus again"


def make_corpus(seed: int, name: str = "sec", kind: str = EMBEDDED) -> Corpus:
    """Make the embedded corpus ``name``; the same seed gives the same corpus everywhere.

    ``kind`` is what tables will call it, so that they can say that it stands in for a real one.

    Raises:
        InputError: the seed is negative, or there is no such corpus.
    """
    if seed < 0:
        raise InputError(f"seed {seed} is negative", remedy="give a seed from 0 on")
    if name not in MAKERS:
        raise InputError(f"unknown corpus {name!r}", remedy=f"give one of: {', '.join(MAKERS)}")
    corpus = MAKERS[name](seed)
    if isinstance(corpus, AgentTrace):
        trace = dataclasses.replace(corpus.trace, header={**corpus.trace.header, "corpus_kind": kind})
        return dataclasses.replace(corpus, kind=kind, trace=trace)
    return dataclasses.replace(corpus, kind=kind)


def write_corpus(corpus: Corpus, path: Path) -> None:
    """Write a corpus with its checksum: an agent trace in Mooncake's format, every other one as JSON."""
    if isinstance(corpus, AgentTrace):
        write_agent_trace(corpus, path)
    else:
        text = {} if corpus.text is None else {"text": text_fields(corpus.text)}
        write_json(path, {**content(corpus), **text, "sha256": corpus.sha256()})


def read_corpus(path: Path) -> Corpus:
    """Read a corpus file; JSON lines are an agent trace, a public one included.

    Raises:
        InputError: the file cannot be read, is no corpus, or was changed since it was made.
    """
    if path.suffix == ".jsonl":
        return read_agent_trace(path)
    try:
        fields = jsontext.parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"the corpus cannot be read ({error.strerror})", remedy=_REMEDY, file=path) from error
    except ValueError as error:
        raise InputError(f"the corpus is not JSON ({error})", remedy=_REMEDY, file=path) from error
    name = fields.get("name") if isinstance(fields, dict) else None
    if not isinstance(name, str) or name not in _JSON_CORPORA:
        raise InputError("this is not a corpus file", remedy=_REMEDY, file=path)
    checksum, text_of_file = fields.pop("sha256", None), fields.pop("text", None)
    corpus = settings(_JSON_CORPORA[name], YamlFile(path, fields, lines={}))
    if text_of_file is not None:
        corpus = dataclasses.replace(corpus, text=read_text(text_of_file, path))
    if checksum != corpus.sha256():
        raise InputError("the corpus was changed: its SHA-256 differs", remedy=_REMEDY, file=path)
    return corpus


def numbering(corpus: Corpus, seed: int, sink: TokenSink | None = None) -> BlockNumbers:
    """Return what gives the blocks of a seed's prompts their ids; the prompts' token ids go to ``sink``.

    Where the corpus has text, blocks are numbered by their tokens. Otherwise token ids are drawn, only for a sink.
    """
    if corpus.text is None and sink is None:
        return BlockNumbers()

    def tokens_of(segment: Segment) -> TokenIds:
        return corpus.tokens(segment, seed)

    return (
        SentBlocks(tokens_of, DRAWN_BOS, sink) if corpus.text is None else TokenBlocks(tokens_of, corpus.text.bos, sink)
    )


def as_kind(kind: type[C], corpus: Corpus) -> C:
    """Return the corpus if it is of the kind that a workload needs.

    Raises:
        InputError: it is of another kind.
    """
    if not isinstance(corpus, kind):
        raise InputError(
            f"the corpus {corpus.name!r} is not the one that the workload's requests are made of",
            remedy="give the workload's own corpus",
        )
    return corpus

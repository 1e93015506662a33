"""Real corpora: filings and questions as token ids, in the same types as the embedded ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import resources
from itertools import chain

import numpy as np

from fairway.errors import InputError
from fairway.sources.edgar.text import FilingText
from fairway.sources.kinds import real_kind
from fairway.sources.tokenizer import Tokenizer
from fairway.traces.corpus_text import CorpusText
from fairway.traces.filings import CHUNK_TOKENS, Filings
from fairway.traces.musique_file import QuestionTexts
from fairway.traces.questions import Questions


def real_filings(texts: Iterable[FilingText], tokenizer: Tokenizer, seed: int) -> Filings:
    """Return filings as a corpus; ``seed`` draws which excerpts its units ask for.

    Texts are read one at a time; what stays are the token ids.

    Raises:
        InputError: a filing has no whole chunk.
    """
    origin, ids = [], []
    for text in texts:
        found = _as_ids(tokenizer.encode(text.text))
        if len(found) < CHUNK_TOKENS:
            raise InputError(
                f"filing {text.accession} of {text.ticker} has {len(found)} tokens, not one chunk of {CHUNK_TOKENS}",
                remedy="take it off the list, or fetch its document again",
            )
        origin.append(f"{text.ticker} {text.period} {text.accession}, SHA-256 {text.document_sha256}")
        ids.append(found)
    if not ids:
        raise InputError("there is no filing", remedy="list some")
    lengths = tuple(len(found) for found in ids)
    return Filings(
        "sec", real_kind(tokenizer.name), seed, tokenizer.name, CHUNK_TOKENS, lengths, _text(tokenizer, origin, ids)
    )


def real_questions(texts: QuestionTexts, origin: str, tokenizer: Tokenizer, seed: int) -> Questions:
    """Return questions as a corpus; ``seed`` is that of their choice and ``origin`` says where they are from."""
    ids = [_as_ids(tokenizer.encode(text)) for text in chain(texts.paragraphs, texts.questions)]
    lengths = [len(found) for found in ids]
    count = len(texts.paragraphs)
    return Questions(
        name="musique",
        kind=real_kind(tokenizer.name),
        seed=seed,
        tokenizer=tokenizer.name,
        paragraph_tokens=tuple(lengths[:count]),
        question_tokens=tuple(lengths[count:]),
        question_paragraphs=texts.question_paragraphs,
        text=_text(tokenizer, [origin], ids),
    )


def _text(tokenizer: Tokenizer, origin: Sequence[str], ids: Sequence[np.ndarray]) -> CorpusText:
    prompt = (resources.files("fairway.sources") / "system_prompt.txt").read_text(encoding="utf-8")
    system = _as_ids(tokenizer.encode(prompt.strip()))
    return CorpusText(tokenizer.bos, len(system), tuple(origin), np.concatenate([system, *ids]))


def _as_ids(ids: Sequence[int]) -> np.ndarray:
    return np.array(ids, dtype=np.uint32)

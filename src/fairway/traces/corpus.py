"""The embedded SEC-like corpus: filings that have only a length, made here and needing no network.

Lengths follow those of 64 real 10-Q filings of 63 companies (2023, from EDGAR, https://www.sec.gov; the HTML copies in
the MIT-licensed test data of sec-parser). Their text, hidden XBRL facts left out, was counted with Llama-3's tokenizer:
13,959 to 80,652 tokens.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairway.errors import InputError
from fairway.files import write_json
from fairway.traces.streams import stream

EMBEDDED = "embedded"
CHUNK_TOKENS = 512
FILINGS = 64
TOKENIZER = "none: lengths follow Llama-3 token counts of real filings"
# Sixteenths of the real lengths' distribution, from the shortest to the longest, in tokens.
LENGTH_QUANTILES_TOKENS = (
    13959, 17859, 20262, 25381, 28801, 30277, 33081, 35152, 37036,
    38210, 41726, 44580, 46720, 51172, 53858, 64339, 80652,
)  # fmt: skip


@dataclass(frozen=True)
class Corpus:
    """Filings by their lengths, cut into chunks of ``chunk_tokens``; a shorter rest is left out."""

    kind: str
    seed: int
    tokenizer: str
    chunk_tokens: int
    filing_tokens: tuple[int, ...]

    def chunks(self, filing: int) -> int:
        """Return how many whole chunks a filing has."""
        return self.filing_tokens[filing] // self.chunk_tokens

    def sha256(self) -> str:
        """Return the checksum of the content, the same however the file is laid out."""
        content = json.dumps(_content(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(content.encode("utf-8")).hexdigest()


def make_corpus(seed: int) -> Corpus:
    """Draw 64 filings by inverse transform, one from each 64th of the real lengths' distribution.

    Drawing by strata keeps so small a sample at a Kolmogorov-Smirnov distance below 0.1 from the real lengths, for any
    seed; independent draws would not.
    """
    if seed < 0:
        raise InputError(f"seed {seed} is negative", remedy="give a seed from 0 on")
    strata = (np.arange(FILINGS) + stream(seed, "filing lengths").random(FILINGS)) / FILINGS
    probabilities = np.linspace(0.0, 1.0, len(LENGTH_QUANTILES_TOKENS))
    lengths = np.floor(np.interp(strata, probabilities, LENGTH_QUANTILES_TOKENS)).astype(np.int64)
    shuffled = stream(seed, "filing order").permutation(lengths)
    return Corpus(EMBEDDED, seed, TOKENIZER, CHUNK_TOKENS, tuple(shuffled.tolist()))


def write_corpus(corpus: Corpus, path: Path) -> None:
    """Write a corpus as JSON with its checksum."""
    write_json(path, {**_content(corpus), "sha256": corpus.sha256()})


def read_corpus(path: Path) -> Corpus:
    """Read a corpus file.

    Raises:
        InputError: the file cannot be read, is no corpus, or was changed since it was made.
    """
    remedy = "make the corpus again"
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"the corpus cannot be read ({error.strerror})", remedy=remedy, file=path) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"the corpus is not JSON ({error})", remedy=remedy, file=path) from error
    corpus = _corpus(fields)
    if corpus is None:
        raise InputError("this is not a corpus file", remedy=remedy, file=path)
    if fields.get("sha256") != corpus.sha256():
        raise InputError("the corpus was changed: its SHA-256 differs", remedy=remedy, file=path)
    return corpus


def _content(corpus: Corpus) -> dict[str, Any]:
    return {
        "kind": corpus.kind,
        "seed": corpus.seed,
        "tokenizer": corpus.tokenizer,
        "chunk_tokens": corpus.chunk_tokens,
        "filings": [{"tokens": tokens} for tokens in corpus.filing_tokens],
    }


def _corpus(fields: Any) -> Corpus | None:
    """Return the corpus that a JSON value describes, or None if it describes none."""
    expected: dict[str, type] = {"kind": str, "seed": int, "tokenizer": str, "chunk_tokens": int, "filings": list}
    if not isinstance(fields, dict) or any(type(fields.get(name)) is not kind for name, kind in expected.items()):
        return None
    lengths: list[Any] = [filing.get("tokens") if isinstance(filing, dict) else None for filing in fields["filings"]]
    if not lengths or fields["chunk_tokens"] < 1 or any(type(tokens) is not int or tokens < 1 for tokens in lengths):
        return None
    return Corpus(fields["kind"], fields["seed"], fields["tokenizer"], fields["chunk_tokens"], tuple(lengths))

"""Filings, cut into chunks; and the embedded SEC-like corpus of them: lengths alone, made here without any network."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Literal

import numpy as np

from fairway.traces.checksum import content_sha256
from fairway.traces.corpus_text import CorpusText, TokenIds, drawn_tokens
from fairway.traces.facts import read_facts
from fairway.traces.prompts import Segment
from fairway.traces.streams import stream

EMBEDDED = "embedded"
CHUNK_TOKENS = 512
FILINGS = 64
QUANTILES = 17  # sixteenths of the real lengths' distribution, from the shortest to the longest
TOKENIZER = "none: lengths follow Llama-3 token counts of real filings"


@dataclass(frozen=True)
class FilingFacts:
    """Lengths of real filings; where they are from and how they were counted."""

    source: str
    tokenizer: str
    filing_tokens: tuple[int, ...]


@dataclass(frozen=True)
class Filings:
    """Filings by their lengths, cut into chunks of ``chunk_tokens``; a shorter rest is left out."""

    name: Literal["sec"]
    kind: str
    seed: int
    tokenizer: str
    chunk_tokens: int
    filing_tokens: tuple[int, ...]
    text: CorpusText | None = field(default=None, compare=False)  # the filings one after the other; None: lengths alone

    def __post_init__(self) -> None:
        if not self.filing_tokens or min(self.chunk_tokens, *self.filing_tokens) < 1:
            raise ValueError("there is no filing, or something has no tokens")

    def chunks(self, filing: int) -> int:
        """Return how many whole chunks a filing has."""
        return self.filing_tokens[filing] // self.chunk_tokens

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate(self.filing_tokens, initial=0))

    def tokens(self, segment: Segment, seed: int) -> TokenIds:
        """Return the ids of a prompt's segment: an excerpt's own, and a run of the filings' text for what is unique."""
        if self.text is None:
            return drawn_tokens(segment, seed)
        match segment.content:
            case ("system",):
                return self.text.system(segment.tokens)
            case ("excerpt", int(filing), int(chunk)):
                return self.text.piece(self._starts[filing] + chunk * self.chunk_tokens, segment.tokens)
        return self.text.drawn_run(segment, seed)

    def sha256(self) -> str:
        """Return the checksum of the content."""
        return content_sha256(self)

    def __str__(self) -> str:
        return f"{len(self.filing_tokens)} filings, {sum(self.filing_tokens)} tokens ({self.kind})"


def make_filings(seed: int) -> Filings:
    """Draw 64 filings by inverse transform, one from each 64th of the real lengths' distribution.

    Drawing by strata keeps so small a sample at a Kolmogorov-Smirnov distance below 0.1 from the real lengths, for any
    seed; independent draws would not.
    """
    real_tokens = read_facts("sec", FilingFacts).filing_tokens
    probabilities = np.linspace(0.0, 1.0, QUANTILES)
    quantiles = np.quantile(real_tokens, probabilities).round()
    strata = (np.arange(FILINGS) + stream(seed, "filing lengths").random(FILINGS)) / FILINGS
    lengths = np.floor(np.interp(strata, probabilities, quantiles)).astype(np.int64)
    shuffled = stream(seed, "filing order").permutation(lengths)
    return Filings("sec", EMBEDDED, seed, TOKENIZER, CHUNK_TOKENS, tuple(shuffled.tolist()))

"""The text of a corpus as token ids, and the ids of what has no text."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fairway.errors import InputError
from fairway.traces.prompts import Segment
from fairway.traces.streams import scale_to_integers, stream

TokenIds = npt.NDArray[np.uint32]

DRAWN_LOWEST, DRAWN_HIGHEST = 1_000, 30_000  # ordinary words of any tokenizer, no special ones
DRAWN_BOS = 1


@dataclass(frozen=True, eq=False)
class CorpusText:
    """Token ids: a system prompt, then the corpus's pieces one after the other."""

    bos: int  # begins every prompt, once
    system_tokens: int
    origin: tuple[str, ...]  # what the pieces were taken from, with checksums
    ids: TokenIds  # (system_tokens + tokens of all pieces,)

    @cached_property
    def _sha256(self) -> str:
        return hashlib.sha256(_bytes(self.ids)).hexdigest()

    def description(self) -> dict[str, Any]:
        """Return everything but the ids, which the checksum stands for."""
        return {
            "bos": self.bos,
            "system_tokens": self.system_tokens,
            "tokens": len(self.ids),
            "sha256": self._sha256,
            "origin": list(self.origin),
        }

    def system(self, tokens: int) -> TokenIds:
        """Return the first ids of the system prompt.

        Raises:
            InputError: it is shorter.
        """
        if tokens > self.system_tokens:
            raise InputError(
                f"the corpus's system prompt has {self.system_tokens} tokens, {tokens} are needed",
                remedy="ask for a shorter one",
            )
        return self.ids[:tokens]

    def piece(self, start: int, tokens: int) -> TokenIds:
        """Return a run of the pieces' ids."""
        first = self.system_tokens + start
        return self.ids[first : first + tokens]

    def drawn_run(self, segment: Segment, seed: int) -> TokenIds:
        """Return a run of the corpus's text for a segment that is nobody else's; where it begins is drawn."""
        last_start = len(self.ids) - self.system_tokens - segment.tokens
        if last_start < 0:
            raise InputError(f"the corpus has fewer than {segment.tokens} tokens of text", remedy="use a larger corpus")
        start = scale_to_integers(_stream_of(segment, seed).random(1), 0, last_start)
        return self.piece(int(start[0]), segment.tokens)


def drawn_tokens(segment: Segment, seed: int) -> TokenIds:
    """Return ids for a segment that has a length alone: drawn, the same for the same segment."""
    uniforms = _stream_of(segment, seed).random(segment.tokens)
    return scale_to_integers(uniforms, DRAWN_LOWEST, DRAWN_HIGHEST).astype(np.uint32)


def text_fields(text: CorpusText) -> dict[str, Any]:
    """Return a text as a corpus file holds it: described, with the ids as base64 of little-endian 32-bit numbers."""
    return {**text.description(), "ids": base64.b64encode(_bytes(text.ids)).decode("ascii")}


def read_text(fields: Any, file: Path) -> CorpusText:
    """Return the text that a corpus file holds.

    Raises:
        InputError: its ids cannot be read, or were changed.
    """
    remedy = "make the corpus again"
    try:
        ids = np.frombuffer(base64.b64decode(fields["ids"], validate=True), dtype="<u4")
        text = CorpusText(int(fields["bos"]), int(fields["system_tokens"]), tuple(fields["origin"]), ids)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"the corpus's token ids cannot be read ({error})", remedy=remedy, file=file) from error
    if text_fields(text) != fields:
        raise InputError("the corpus's token ids were changed: their SHA-256 differs", remedy=remedy, file=file)
    return text


def _bytes(ids: TokenIds) -> bytes:
    return np.ascontiguousarray(ids, dtype="<u4").tobytes()


def _stream_of(segment: Segment, seed: int) -> np.random.Generator:
    return stream(seed, f"text of {segment.content} {segment.tokens}")

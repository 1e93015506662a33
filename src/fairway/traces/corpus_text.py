"""The text of a corpus as token ids, and the ids of what has no text."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fairway.errors import InputError
from fairway.files import atomic_path
from fairway.traces.prompts import Segment
from fairway.traces.streams import scale_to_integers, stream

TokenIds = npt.NDArray[np.uint32]

DRAWN_LOWEST, DRAWN_HIGHEST = 1_000, 30_000  # ordinary words of any tokenizer, no special ones
DRAWN_BOS = 1
_REMEDY = "make the corpus again"


@dataclass(frozen=True, eq=False)
class CorpusText:
    """Token ids: a system prompt, then the corpus's pieces one after the other."""

    bos: int  # begins every prompt, once
    system_tokens: int
    origin: tuple[str, ...]  # what the pieces were taken from, with checksums
    ids: TokenIds  # (system_tokens + tokens of all pieces,)

    @cached_property
    def _sha256(self) -> str:
        return hashlib.sha256(np.ascontiguousarray(self.ids, dtype="<u4").tobytes()).hexdigest()

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


def text_path(corpus_path: Path) -> Path:
    """Return where a corpus file's token ids lie: ``sec.tokens.npy`` for ``sec.json``."""
    return corpus_path.with_suffix(".tokens.npy")


def write_text_ids(text: CorpusText, corpus_path: Path) -> None:
    """Write the ids beside the corpus file, atomically."""
    with atomic_path(text_path(corpus_path)) as part, part.open("wb") as file:
        np.save(file, np.ascontiguousarray(text.ids, dtype="<u4"))


def read_text(description: Any, corpus_path: Path) -> CorpusText:
    """Read the ids beside a corpus file; they stay in the file until they are needed.

    Raises:
        InputError: the file is missing, or is not the one that the corpus was made with.
    """
    path = text_path(corpus_path)
    try:
        ids = np.load(path, mmap_mode="r")
        text = CorpusText(int(description["bos"]), int(description["system_tokens"]), tuple(description["origin"]), ids)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"the corpus's token ids cannot be read ({error})", remedy=_REMEDY, file=path) from error
    if text.description() != description:
        raise InputError("the token ids were changed: their SHA-256 differs", remedy=_REMEDY, file=path)
    return text


def _stream_of(segment: Segment, seed: int) -> np.random.Generator:
    return stream(seed, f"text of {segment.content} {segment.tokens}")

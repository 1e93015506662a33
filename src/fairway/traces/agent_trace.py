"""Agent traces: a public one in Mooncake's format, or an embedded one in the same format."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from fairway.traces.corpus_text import TokenIds, drawn_tokens
from fairway.traces.mooncake import read_trace, trace_lines, write_trace
from fairway.traces.prompts import Segment
from fairway.traces.trace import Trace

PUBLIC = "public trace"


@dataclass(frozen=True, eq=False)
class AgentTrace:
    """Requests with their block ids and times, in arrival order, ``kind`` naming the family."""

    name: ClassVar[str] = "mooncake"

    kind: str
    seed: int
    tokenizer: str
    trace: Trace

    @cached_property
    def _sha256(self) -> str:
        digest = hashlib.sha256()
        for line in trace_lines(self.trace):
            digest.update(line.encode("utf-8"))
        return digest.hexdigest()

    @property
    def text(self) -> None:
        """There is none: public traces say which blocks are alike, not what they hold."""

    def tokens(self, segment: Segment, seed: int) -> TokenIds:
        """Return drawn ids for a block."""
        return drawn_tokens(segment, seed)

    def sha256(self) -> str:
        """Return the checksum of the requests in Mooncake's format, however the file was laid out."""
        return self._sha256

    def __str__(self) -> str:
        return f"{len(self.trace)} requests, {int(self.trace.prompt_tokens.sum())} tokens ({self.kind})"


def read_agent_trace(path: Path) -> AgentTrace:
    """Read an embedded trace, or a public one in Mooncake's format, which has no header.

    Raises:
        InputError: the file cannot be read, a row is wrong, or it was changed since it was made.
    """
    trace = read_trace(path)
    header = trace.header
    return AgentTrace(
        str(header.get("corpus_kind", PUBLIC)), int(header.get("seed", 0)), str(header.get("tokenizer", PUBLIC)), trace
    )


def write_agent_trace(corpus: AgentTrace, path: Path) -> None:
    """Write an agent trace in Mooncake's format, with a header that says where it comes from."""
    write_trace(corpus.trace, path)

"""Ids of blocks of real tokens: equal ids are equal tokens behind equal tokens, as an engine's block hashes are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from fairway.traces.corpus_text import TokenIds
from fairway.traces.prompts import BLOCK_TOKENS, BlockNumbers, Node, Request, Segment

BLOCK_BYTES = 4 * BLOCK_TOKENS


class TokenSink(Protocol):
    """Takes the prompts' token ids, one prompt after the other."""

    def add(self, tokens: TokenIds) -> None:
        """Take the next prompt."""


class SentBlocks(BlockNumbers):
    """Sends the prompts' token ids to a sink, and numbers blocks by their segments: drawn tokens share nothing else.

    The first token of every prompt is ``bos``, in the place of its own: lengths stay, and no prompt has two.
    """

    def __init__(self, tokens_of: Callable[[Segment], TokenIds], bos: int, sink: TokenSink | None = None) -> None:
        super().__init__()
        self._tokens_of = tokens_of
        self._bos = np.array([bos], dtype=np.uint32)
        self._sink = sink

    def ids(self, request: Request) -> list[int]:
        """Return one id for each started block of the prompt; its tokens go to the sink."""
        if self._sink is not None:
            self._sink.add(self._begun(np.concatenate([self._tokens_of(segment) for segment in request.segments])))
        return super().ids(request)

    def _begun(self, tokens: TokenIds) -> TokenIds:
        return np.concatenate([self._bos[: len(tokens)], tokens[1:]])  # a segment without tokens begins nothing


class TokenBlocks(SentBlocks):
    """Numbers blocks by their tokens, so segments that begin or end alike share what an engine would share.

    What it remembers grows with the different blocks that there are: a corpus's text in all its orders.
    """

    def __init__(self, tokens_of: Callable[[Segment], TokenIds], bos: int, sink: TokenSink | None = None) -> None:
        super().__init__(tokens_of, bos, sink)
        self._known: dict[tuple[int, bytes], int] = {}

    def _child(self, node: Node, segment: Segment) -> Node:
        tokens = self._tokens_of(segment)
        if node.end_tokens == 0:
            tokens = self._begun(tokens)
        content = node.tail + tokens.astype("<u4").tobytes()
        full_bytes = len(content) // BLOCK_BYTES * BLOCK_BYTES
        last_id = node.last_id
        ids = []
        for start in range(0, full_bytes, BLOCK_BYTES):
            last_id = self._numbered(last_id, content[start : start + BLOCK_BYTES])
            ids.append(last_id)
        return Node(node.end_tokens + segment.tokens, tuple(ids), last_id, content[full_bytes:])

    def _tail_id(self, node: Node) -> int:
        return self._numbered(node.last_id, node.tail)

    def _numbered(self, parent: int, content: bytes) -> int:
        key = (parent, content)
        if key not in self._known:
            self._known[key] = self._take(1)[0]
        return self._known[key]

"""Prompts made of segments, and the ids of their blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fairway.traces.trace import Int64Array, Trace

BLOCK_TOKENS = 16  # of the traces generated here; vLLM's default block size


class Segment(NamedTuple):
    """A run of tokens that prompts have as a whole or not at all; equal content means equal tokens."""

    content: tuple[str | int, ...]
    tokens: int


class Request(NamedTuple):
    """A request before it has an arrival time."""

    kind: str
    segments: tuple[Segment, ...]

    @property
    def prompt_tokens(self) -> int:
        """Length of the prompt."""
        return sum(segment.tokens for segment in self.segments)


class Prompt(NamedTuple):
    """A request whose blocks are numbered."""

    kind: str
    prompt_tokens: int
    block_ids: Int64Array  # one for each started block


def system_prompt(tokens: int) -> Segment:
    """Return the beginning that all prompts share; 0 tokens are none."""
    return Segment(("system",), tokens)


@dataclass
class Node:
    """What prompts with the same leading segments have in common."""

    end_tokens: int
    block_ids: tuple[int, ...]  # of the blocks that end within the last of these segments
    last_id: int = -1  # of the last full block; -1 before there is one
    tail: bytes = b""  # the tokens behind it, where blocks are numbered by their tokens
    tail_id: int | None = None  # of the partly filled block behind them, once a prompt has ended here
    children: dict[Segment, Node] = field(default_factory=dict)


class BlockNumbers:
    """Gives blocks their ids, from 0 in order of first appearance; equal ids mean equal prefixes.

    Segments are equal as wholes or not at all; `TokenBlocks` looks into them.
    """

    def __init__(self) -> None:
        self._root = Node(0, ())
        self._unused = 0

    def ids(self, request: Request) -> list[int]:
        """Return one id for each started block of the prompt."""
        node = self._root
        ids: list[int] = []
        for segment in request.segments:
            child = node.children.get(segment)
            if child is None:
                child = node.children[segment] = self._child(node, segment)
            node = child
            ids.extend(node.block_ids)
        if node.end_tokens % BLOCK_TOKENS:
            if node.tail_id is None:
                node.tail_id = self._tail_id(node)
            ids.append(node.tail_id)
        return ids

    def prompt(self, request: Request) -> Prompt:
        """Return the request with its blocks numbered."""
        return Prompt(request.kind, request.prompt_tokens, np.array(self.ids(request), dtype=np.int64))

    def _child(self, node: Node, segment: Segment) -> Node:
        end_tokens = node.end_tokens + segment.tokens
        return Node(end_tokens, tuple(self._take(end_tokens // BLOCK_TOKENS - node.end_tokens // BLOCK_TOKENS)))

    def _tail_id(self, node: Node) -> int:
        return self._take(1)[0]

    def _take(self, count: int) -> range:
        first = self._unused
        self._unused += count
        return range(first, self._unused)


def assemble(prompts: Sequence[Prompt], arrival_ns: Int64Array, phases: Sequence[str], output_tokens: int) -> Trace:
    """Put prompts with their arrival times, shape (n,) and not decreasing, into a trace without a header."""
    return Trace(
        arrival_ns=arrival_ns,
        prompt_tokens=np.array([prompt.prompt_tokens for prompt in prompts], dtype=np.int64),
        output_tokens=np.full(len(prompts), output_tokens, dtype=np.int64),
        block_ids=np.concatenate([np.empty(0, dtype=np.int64), *(prompt.block_ids for prompt in prompts)]),
        block_offsets=np.cumsum([0, *(len(prompt.block_ids) for prompt in prompts)], dtype=np.int64),
        block_tokens=BLOCK_TOKENS,
        kind=tuple(prompt.kind for prompt in prompts),
        phase=tuple(phases),
    )


def number_and_assemble(
    requests: Iterable[Request],
    arrival_ns: Int64Array,
    phases: Sequence[str],
    output_tokens: int,
    numbers: BlockNumbers | None = None,
) -> Trace:
    """Number the blocks of requests, by ``numbers`` or from 0 on, and put them into a trace as `assemble` does."""
    numbers = numbers or BlockNumbers()
    return assemble([numbers.prompt(request) for request in requests], arrival_ns, phases, output_tokens)

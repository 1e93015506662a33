"""Prompts as chains of engine blocks: equal ids mean equal prefixes.

A trace lists ids per trace block; an engine caches blocks of its own size. A piece of a trace block is known by the
block's id, the number of tokens in that block, and the piece's place in it. The number of tokens matters because the id
of a partly filled last block stands for those tokens only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fairway.errors import InputError
from fairway.traces.trace import BlockIds, Int64Array, Trace

HEAD_TOKENS = 32  # SGLang's sibling check looks at this many, schedule_policy.py


def chains(trace: Trace, engine_block_tokens: int) -> list[list[int]]:
    """Return, for each request, one id for each full engine block of its prompt.

    An id stands for a block and everything before it: two requests have the same id exactly if they share that prefix.

    Raises:
        InputError: neither block size is a multiple of the other.
    """
    if trace.block_tokens % engine_block_tokens == 0:
        return _pieces(trace, engine_block_tokens)
    if engine_block_tokens % trace.block_tokens == 0:
        step = engine_block_tokens // trace.block_tokens
        return [chain[step - 1 :: step] for chain in _pieces(trace, trace.block_tokens)]
    raise InputError(
        f"blocks of {trace.block_tokens} tokens in the trace and {engine_block_tokens} in the engine do not divide",
        remedy="choose an engine block size that divides the trace's or is a multiple of it",
    )


def head_ids(trace: Trace) -> Int64Array:
    """Return, shape (n,), an id of each prompt's first 32 tokens; shorter prompts have a negative id of their own.

    Raises:
        InputError: the first 32 tokens do not end with a trace block.
    """
    if trace.block_tokens < HEAD_TOKENS and HEAD_TOKENS % trace.block_tokens:
        raise InputError(
            f"blocks of {trace.block_tokens} tokens do not tell what the first {HEAD_TOKENS} tokens are",
            remedy=f"use a trace whose block size divides {HEAD_TOKENS} or is larger",
        )
    blocks = max(1, HEAD_TOKENS // trace.block_tokens)
    heads = -1 - np.arange(len(trace), dtype=np.int64)
    has_head = trace.prompt_tokens >= HEAD_TOKENS
    starts = trace.block_offsets[:-1][has_head]
    tokens = np.minimum(trace.prompt_tokens[has_head], trace.block_tokens)
    heads[has_head] = _numbered([tokens, *(trace.block_ids[starts + block] for block in range(blocks))])
    return heads


def _numbered(columns: Sequence[BlockIds]) -> Int64Array:
    """Number the distinct rows of some columns, each of shape (n,), from 0 in order of first appearance."""
    rows = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, places = np.unique(column, return_inverse=True)
        rows = np.unique(rows * len(values) + places, return_inverse=True)[1]
    _, first, places = np.unique(rows, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[places]


def _pieces(trace: Trace, piece_tokens: int) -> list[list[int]]:
    """Cut trace blocks into pieces, interned in a trie whose nodes are trace blocks."""
    block_tokens = trace.block_tokens
    pieces_per_block = block_tokens // piece_tokens
    first_piece: dict[tuple[int, int, int], int] = {}  # (parent's first piece, id, tokens) -> the block's first piece
    unused = 0
    result = []
    for prompt_tokens, ids in _prompts(trace):
        full_blocks, tail_tokens = divmod(prompt_tokens, block_tokens)
        chain: list[int] = []
        node = -1
        for block, block_id in enumerate(ids):
            tokens = block_tokens if block < full_blocks else tail_tokens
            pieces = pieces_per_block if block < full_blocks else tail_tokens // piece_tokens
            node = first_piece.setdefault((node, block_id, tokens), unused)
            # An existing node lies below `unused`; a tail without a full piece takes no id and has no child.
            if node == unused:
                unused += pieces
            chain.extend(range(node, node + pieces))
        result.append(chain)
    return result


def _prompts(trace: Trace) -> Iterator[tuple[int, list[int]]]:
    """Yield each prompt's length in tokens and its ids."""
    offsets = trace.block_offsets.tolist()
    ids = trace.block_ids.tolist()
    for tokens, start, end in zip(trace.prompt_tokens.tolist(), offsets[:-1], offsets[1:], strict=True):
        yield tokens, ids[start:end]

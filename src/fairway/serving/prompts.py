"""A trace's prompts as token ids: equal blocks behind equal blocks give equal tokens, other blocks others."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

import numpy as np
import numpy.typing as npt

from fairway.traces import Trace, chains

FIRST_TOKEN = (
    1_000  # ordinary vocabulary: below lie the control tokens of some vocabularies, at the end those of others
)
ORDINARY_TOKENS = 30_000
_PIECE_TOKENS = 16  # no engine caches smaller blocks
_ID_TOKENS = 4  # a block begins with its id in digits to the base of ORDINARY_TOKENS
_STRIDE = 7_919  # coprime to ORDINARY_TOKENS


def token_ids(trace: Trace) -> Iterator[npt.NDArray[np.int32]]:
    """Yield each prompt's token ids, shape (prompt_tokens,), in the trace's order.

    Prompts share exactly what they share in the trace, in pieces of 16 tokens; the tokens of an unfinished last piece
    are those of its request alone.
    """
    size = gcd(trace.block_tokens, _PIECE_TOKENS)
    for request, (chain, tokens) in enumerate(zip(chains(trace, size), trace.prompt_tokens.tolist(), strict=True)):
        full = np.array(chain, dtype=np.int64)
        own = np.array([-request - 1], dtype=np.int64)
        blocks = _content(np.concatenate([full, own]), size)
        yield blocks.reshape(-1)[:tokens].astype(np.int32)


def own_prompt(number: int, tokens: int) -> npt.NDArray[np.int32]:
    """Return token ids, shape (tokens,), that share no block with those of another number."""
    return (FIRST_TOKEN + (np.arange(tokens) * 11 + 101 * number) % ORDINARY_TOKENS).astype(np.int32)


def _content(block_ids: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """Return the tokens of blocks, shape (blocks, size): the id's digits over and over, moved on at each round."""
    places = np.arange(size)
    digits = block_ids[:, None] // ORDINARY_TOKENS ** (places % _ID_TOKENS)
    return FIRST_TOKEN + (digits + _STRIDE * (places // _ID_TOKENS)) % ORDINARY_TOKENS

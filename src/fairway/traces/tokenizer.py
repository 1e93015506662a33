"""Counting tokens with Llama-3's tokenizer, from a model file that the user has installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fairway.errors import InputError

NAME = "Llama-3"
# How Llama 3 cuts text before byte pairs are merged, as published beside the model (llama_models/llama3/tokenizer.py).
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)


def llama3_counter(model: Path) -> Callable[[str], int]:
    """Return what counts a text's tokens, no special ones added.

    Raises:
        InputError: tiktoken is not installed, or the file is no tokenizer model.
    """
    try:
        import tiktoken
        from tiktoken.load import load_tiktoken_bpe
    except ImportError as error:
        raise InputError("tiktoken is not installed", remedy="install it with pip") from error
    try:
        ranks = load_tiktoken_bpe(str(model))
        encoding = tiktoken.Encoding(NAME, pat_str=_WORDS, mergeable_ranks=ranks, special_tokens={})
    except (OSError, ValueError) as error:
        remedy = "name the file tokenizer.model of the package llama-models"
        raise InputError(f"the tokenizer model cannot be read ({error})", remedy=remedy, file=model) from error
    return lambda text: len(encoding.encode_ordinary(text))

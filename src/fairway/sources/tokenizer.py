"""Tokenizers: a model that a package brings, or a file, read by tiktoken; no special tokens are put in."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fairway.errors import InputError
from fairway.sources.settings import TokenizerSource

# How Llama 3 cuts text before byte pairs are merged, as published beside the model (llama_models/llama3/tokenizer.py).
_LLAMA_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
_EVERY_KIND = (
    "We're at 1,234.5% (see Note 12): caf\u00e9 \u4e2d\u6587 \u2013  x\t\n\n  Item 1. <|a|>\n"  # of characters
)
_LLAMA_BOS, _TEKKEN_BOS = 128_000, 1
_LLAMA_TOKENS, _TEKKEN_TOKENS = 128_000, 130_072  # without special ones


@dataclass(frozen=True)
class Tokenizer:
    """Turns text into ids; ``bos`` is what begins a prompt, once, and is not among them."""

    name: str
    bos: int
    encode: Callable[[str], list[int]]


@dataclass(frozen=True)
class _Model:
    """Where a tokenizer's model comes from, and how it is read."""

    package: str
    folder: str  # its import name
    file: str
    licence: str
    installed_by: str
    read: Callable[[str, Path], Tokenizer]


def load_tokenizer(source: TokenizerSource) -> Tokenizer:
    """Return the tokenizer that the sources file names.

    Raises:
        InputError: tiktoken or the model is not installed, or the file is no such model. Never another tokenizer: all
            lengths depend on it.
    """
    model = _MODELS[source.name]
    file = tokenizer_file(source)
    try:
        return model.read(source.name, file)
    except ImportError as error:
        raise InputError("tiktoken is not installed", remedy="make real-env, or pip install tiktoken") from error
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        remedy = f"name the file {model.file} of the package {model.package}"
        raise InputError(f"the tokenizer model cannot be read ({error})", remedy=remedy, file=file) from error


def tokenizer_file(source: TokenizerSource) -> Path:
    """Return where the tokenizer's model is.

    Raises:
        InputError: nowhere.
    """
    if source.file is None:
        return _installed(source.name, _MODELS[source.name])
    if not Path(source.file).is_file():
        raise InputError(
            "there is no tokenizer model",
            remedy=f"name {_MODELS[source.name].file}, or an installed one: file: null",
            file=source.file,
        )
    return Path(source.file)


def _installed(name: str, model: _Model) -> Path:
    package = find_spec(model.folder)
    file = Path(package.origin).parent / model.file if package is not None and package.origin else None
    if file is None or not file.is_file():
        others = ", ".join(other for other in _MODELS if other != name)
        raise InputError(
            f"the tokenizer {name} is not installed: it comes with the package {model.package} ({model.licence})",
            remedy=f"{model.installed_by}, or name its file in tokenizer.file, or set tokenizer.name to another "
            f"({others}), which changes every length",
        )
    return file


def _read_llama(name: str, file: Path) -> Tokenizer:
    # tiktoken's own reader keeps copies by path in a folder of its own, also of a file that has changed since.
    lines = (line.split() for line in file.read_bytes().splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    _check_whole(ranks, _LLAMA_TOKENS)
    return _tokenizer(name, _LLAMA_BOS, _LLAMA_WORDS, ranks, first_id=0)


def _read_tekken(name: str, file: Path) -> Tokenizer:
    model = json.loads(file.read_text(encoding="utf-8"))
    specials = int(model["config"]["default_num_special_tokens"])
    words = int(model["config"]["default_vocab_size"]) - specials
    ranks = {base64.b64decode(entry["token_bytes"]): int(entry["rank"]) for entry in model["vocab"][:words]}
    _check_whole(ranks, _TEKKEN_TOKENS)
    if specials <= _TEKKEN_BOS:
        raise ValueError(f"{specials} special tokens")
    return _tokenizer(name, _TEKKEN_BOS, model["config"]["pattern"], ranks, first_id=specials)


def _check_whole(ranks: Mapping[bytes, int], tokens: int) -> None:
    """Raise ValueError unless there are all tokens of the vocabulary: with fewer, every text would become longer."""
    if len(ranks) != tokens or set(ranks.values()) != set(range(tokens)):
        raise ValueError(f"{len(ranks):,} different tokens, where {tokens:,} are numbered from 0")
    lacking = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if lacking:
        raise ValueError(f"no token for the byte {lacking[0]:#04x}")


def _tokenizer(name: str, bos: int, words: str, ranks: dict[bytes, int], first_id: int) -> Tokenizer:
    import tiktoken

    if not words:
        raise ValueError("no pattern that cuts text")
    encoding: Any = tiktoken.Encoding(name, pat_str=words, mergeable_ranks=ranks, special_tokens={})
    if encoding.decode(encoding.encode_ordinary(_EVERY_KIND)) != _EVERY_KIND:
        raise ValueError("its pattern leaves out parts of a text")  # all lengths would be too short

    def encode(text: str) -> list[int]:
        return [first_id + rank for rank in encoding.encode_ordinary(text)]

    return Tokenizer(name, bos, encode)


_MODELS = {
    "llama-3": _Model(
        "llama-models",
        "llama_models",
        "llama3/tokenizer.model",
        "Meta's licence",
        "make real-env, or pip install --no-deps llama-models",
        _read_llama,
    ),
    "mistral-tekken": _Model(
        "mistral-common",
        "mistral_common",
        "data/tekken_240911.json",
        "Apache-2.0",
        ".venv/bin/python -m pip install --no-deps mistral-common",
        _read_tekken,
    ),
}

"""The header file beside a trace: what its lines mean and where they come from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairway import jsontext
from fairway.errors import InputError
from fairway.files import SEAL, is_sealed, sealed, without_seal, write_json
from fairway.traces.columns import Layout

FORMAT_VERSION = 1
PARQUET = ".parquet"
PUBLIC_BLOCK_TOKENS = 512  # of traces without a header
REMEDY_FOR_OTHER_FILE = "build the trace again, or remove the header if the change is meant"


def is_parquet(trace_path: Path) -> bool:
    """Say whether a trace is Parquet, by its name; all others are JSON lines."""
    return trace_path.suffix == PARQUET


def time_unit(trace_path: Path) -> str:
    """Return what a trace file counts times in: milliseconds in JSON lines, nanoseconds in Parquet."""
    return "ns" if is_parquet(trace_path) else "ms"


def header_path(trace_path: Path) -> Path:
    """Return the header's path: ``3.header.json`` for ``3.jsonl``, ``3.parquet.header.json`` for ``3.parquet``."""
    name = trace_path.name if is_parquet(trace_path) else trace_path.stem
    return trace_path.parent / f"{name}.header.json"


def write_header(
    trace_path: Path, header: Mapping[str, Any], *, block_tokens: int, requests: int, checksum: str
) -> None:
    """Write the header beside ``trace_path``: facts about the file as given, and what else ``header`` says."""
    facts = {
        "format_version": FORMAT_VERSION,
        "time_unit": time_unit(trace_path),
        "block_tokens": block_tokens,
        "full_blocks_only": False,
        "requests": requests,
        "sha256": checksum,
    }
    rest = {name: value for name, value in header.items() if name not in facts}
    write_json(header_path(trace_path), sealed(facts | rest))


def is_ours(header: Mapping[str, Any]) -> bool:
    """Say whether a trace was read with a header file beside it."""
    return "format_version" in header


def read_header(trace_path: Path) -> dict[str, Any] | None:
    """Read the header beside ``trace_path``; None if there is none, as with public traces.

    Raises:
        InputError: the file is not JSON, or a field that the reader needs is missing or of another type.
    """
    path = header_path(trace_path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the header cannot be read ({error})", remedy="build the trace again", file=path) from error
    header = _parse(text, path)
    if SEAL in header and not is_sealed(header):  # a header written by hand has none
        raise InputError("the header was edited after it was written", remedy="build the trace again", file=path)
    _check_fields(header, path, time_unit(trace_path))
    return without_seal(header)


def layout_of(path: Path, header: Mapping[str, Any] | None, block_tokens: int | None) -> Layout:
    """Return how a trace's rows are to be read: as its header says, without one in blocks of 512 tokens unless given.

    Raises:
        InputError: ``block_tokens`` is below 1, or not the header's.
    """
    if block_tokens is not None and block_tokens < 1:
        raise InputError(f"block size {block_tokens} is below 1", remedy="give the trace's tokens a block")
    if header is None:
        return Layout(PUBLIC_BLOCK_TOKENS if block_tokens is None else block_tokens, full_blocks_only=False)
    if block_tokens not in (None, header["block_tokens"]):
        raise InputError(
            f"blocks of {block_tokens} tokens were asked for, but the header says {header['block_tokens']}",
            remedy="leave the block size to the header",
            file=header_path(path),
        )
    return Layout(header["block_tokens"], header["full_blocks_only"])


def check_requests(path: Path, header: Mapping[str, Any], requests: int) -> None:
    """Refuse a file with another number of requests than its header says."""
    if header["requests"] != requests:
        raise InputError(
            f"the file has {requests} requests, but its header says {header['requests']}",
            remedy=REMEDY_FOR_OTHER_FILE,
            file=path,
        )


def check_checksum(path: Path, header: Mapping[str, Any], checksum: str) -> None:
    """Refuse a file that is not the one its header was written for."""
    if header["sha256"] != checksum:
        raise InputError(
            "the file was changed since its header was written: the SHA-256 differs",
            remedy=REMEDY_FOR_OTHER_FILE,
            file=path,
        )


def _parse(text: str, path: Path) -> dict[str, Any]:
    try:
        header = jsontext.parse(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"the header is not JSON ({error.msg})", remedy="build the trace again", file=path, line=error.lineno
        ) from error
    except ValueError as error:
        raise InputError(f"the header is not JSON ({error})", remedy="build the trace again", file=path) from error
    if not isinstance(header, dict):
        raise InputError("the header is not a JSON object", remedy="build the trace again", file=path)
    return header


def _check_fields(header: dict[str, Any], path: Path, unit: str) -> None:
    expected: dict[str, type] = {
        "format_version": int,
        "time_unit": str,
        "block_tokens": int,
        "full_blocks_only": bool,
        "requests": int,
        "sha256": str,
    }
    for name, kind in expected.items():
        if type(header.get(name)) is not kind:
            raise InputError(
                f"header field {name!r} is missing or not of type {kind.__name__}",
                remedy="build the trace again",
                file=path,
            )
    if header["format_version"] != FORMAT_VERSION:
        raise InputError(
            f"format version {header['format_version']} is unknown",
            remedy=f"use a trace of version {FORMAT_VERSION}, or a release that reads this one",
            file=path,
        )
    if header["time_unit"] != unit:
        raise InputError(f"time unit {header['time_unit']!r} is unknown", remedy=f"give times in {unit!r}", file=path)
    if header["block_tokens"] < 1:
        raise InputError("'block_tokens' is below 1", remedy="build the trace again", file=path)
    _check_whole(header, ("seed", "seed_replacements"), 0, path)
    parameters = header.get("parameters", {})
    if not isinstance(parameters, dict):
        raise InputError("'parameters' is no JSON object", remedy="build the trace again", file=path)
    _check_whole(parameters, ("cache_blocks",), 2, path)
    requests = parameters.get("requests", {})
    if not isinstance(requests, dict):
        raise InputError("'parameters.requests' is no JSON object", remedy="build the trace again", file=path)
    _check_whole(requests, ("window",), 0, path)


def _check_whole(values: Mapping[str, Any], names: tuple[str, ...], least: int, path: Path) -> None:
    """Refuse a value that is there and no whole number from ``least`` on that fits into 64 bits."""
    for name in names:
        if name in values and not (type(values[name]) is int and least <= values[name] < 2**63):
            raise InputError(
                f"{name!r} is {values[name]!r}, no whole number of at least {least}",
                remedy="build the trace again",
                file=path,
            )

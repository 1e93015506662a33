"""Atomic writes, checksums, and seals that tell an edited document from a written one."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SEAL = "seal"
COPY = "as_written"  # key of a second copy of a document's values, which tells what an edit changed


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Give a temporary path beside ``target`` that replaces it only if the block succeeds.

    A reader sees the whole old file or the whole new one, also after a kill or a full disk.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        part.chmod(0o644)  # mkstemp makes private files; results are for everybody
        part.replace(target)
    except OSError as error:
        if error.filename is None:  # a write that fails, as on a full disk, does not know of what
            error.filename = str(target)
        raise
    finally:
        part.unlink(missing_ok=True)


def write_text(target: Path, text: str) -> None:
    """Write ``text`` as UTF-8 with Unix line ends, atomically."""
    with atomic_path(target) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def write_json(target: Path, value: Any) -> None:
    """Write ``value`` as indented JSON with keys in their given order, atomically."""
    write_text(target, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_sealed(target: Path, document: Mapping[str, Any]) -> None:
    """Write ``document`` with its seal as JSON, atomically."""
    write_json(target, sealed(document))


def write_sealed_with_copy(target: Path, document: Mapping[str, Any]) -> None:
    """Write ``document`` twice in one file, and a seal."""
    write_sealed(target, {**document, COPY: document})


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``document`` with a checksum of its values under ``seal``, whatever the file's layout will be."""
    content = without_seal(document)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return {**content, SEAL: hashlib.sha256(text.encode("utf-8")).hexdigest()}


def is_sealed(document: Mapping[str, Any]) -> bool:
    """Say whether ``document`` is as it was when it was sealed."""
    return bool(document.get(SEAL) == sealed(document)[SEAL])


def without_seal(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``document`` without its seal."""
    return {name: value for name, value in document.items() if name != SEAL}


def sha256(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

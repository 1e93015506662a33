"""The seal of a figure: a comment at its end that holds the checksum of what stands before it.

A picture has no place for a checksum beside its content, as the JSON of a table has. Readers of PDF, SVG and HTML pass
over comments at the end, and the seal stays with the file wherever it is copied.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from fairway.files import sha256

_COMMENT = {".pdf": "%% sha256 {}\n", ".svg": "<!-- sha256 {} -->\n", ".html": "<!-- sha256 {} -->\n"}  # by suffix
_LENGTH = {suffix: len(comment.format(hashlib.sha256().hexdigest())) for suffix, comment in _COMMENT.items()}


def seal(path: Path, kind: str) -> None:
    """Append the seal to a figure of that kind, "pdf", "svg" or "html"."""
    with path.open("ab") as file:
        file.write(_seal_of(sha256(path), f".{kind}"))


def is_whole(path: Path) -> bool:
    """Say whether a figure, a PDF, SVG or HTML by its name, is as it was written."""
    content = path.read_bytes()
    before, end = content[: -_LENGTH[path.suffix]], content[-_LENGTH[path.suffix] :]
    return end == _seal_of(hashlib.sha256(before).hexdigest(), path.suffix)


def _seal_of(checksum: str, suffix: str) -> bytes:
    return _COMMENT[suffix].format(checksum).encode("ascii")

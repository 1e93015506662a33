"""The seal of a figure or a page: a comment at its end that holds the checksum of what stands before it.

A picture has no place for a checksum beside its content, as the JSON of a table has. Readers of PDF, SVG and HTML pass
over comments at the end, and the seal stays with the file wherever it is copied. A notebook is JSON and has its seal in
its metadata, where its format leaves room.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairway import jsontext
from fairway.files import SEAL, sealed, sha256, write_text

_COMMENT = {".pdf": "%% sha256 {}\n", ".svg": "<!-- sha256 {} -->\n", ".html": "<!-- sha256 {} -->\n"}  # by suffix
_LENGTH = {suffix: len(comment.format(hashlib.sha256().hexdigest())) for suffix, comment in _COMMENT.items()}


def seal(path: Path, kind: str) -> None:
    """Append the seal to a figure of that kind, "pdf", "svg" or "html"."""
    with path.open("ab") as file:
        file.write(_seal_of(sha256(path), f".{kind}"))


def write_page(path: Path, text: str) -> None:
    """Write an HTML page with its seal, atomically."""
    checksum = hashlib.sha256(text.encode("utf-8")).hexdigest()
    write_text(path, text + _COMMENT[".html"].format(checksum))


def notebook_seal(notebook: Mapping[str, Any]) -> str:
    """Return what a notebook's metadata are to hold under ``seal``."""
    metadata = {name: value for name, value in notebook["metadata"].items() if name != SEAL}
    return str(sealed({**notebook, "metadata": metadata})[SEAL])


def is_whole(path: Path) -> bool:
    """Say whether a figure, page or notebook (PDF, SVG, HTML or ipynb by its name) is as it was written."""
    content = path.read_bytes()
    if path.suffix == ".ipynb":
        return _is_notebook_whole(content)
    before, end = content[: -_LENGTH[path.suffix]], content[-_LENGTH[path.suffix] :]
    return end == _seal_of(hashlib.sha256(before).hexdigest(), path.suffix)


def _is_notebook_whole(content: bytes) -> bool:
    try:
        notebook = jsontext.parse(content.decode("utf-8"))
        return bool(notebook["metadata"].get(SEAL) == notebook_seal(notebook))
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


def _seal_of(checksum: str, suffix: str) -> bytes:
    return _COMMENT[suffix].format(checksum).encode("ascii")

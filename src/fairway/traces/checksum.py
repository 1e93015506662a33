"""What a corpus's file holds, and the checksum of it, however the file is laid out."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any


def content(corpus: Any) -> dict[str, Any]:
    """Return a corpus's fields; its text, where it has one, as a description with the checksum of its token ids."""
    fields = {field.name: getattr(corpus, field.name) for field in dataclasses.fields(corpus)}
    text = fields.pop("text")
    return fields if text is None else {**fields, "text": text.description()}


def content_sha256(corpus: Any) -> str:
    """Return the hexadecimal SHA-256 of a corpus's content as JSON."""
    text = json.dumps(content(corpus), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()

"""The checksum of a corpus: that of its content, however the file is laid out."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any


def content_sha256(corpus: Any) -> str:
    """Return the hexadecimal SHA-256 of a dataclass's fields as JSON."""
    content = json.dumps(dataclasses.asdict(corpus), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode("utf-8")).hexdigest()

"""A table's three files: JSON, which the others are made from, CSV and Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from fairway.errors import InputError
from fairway.files import write_json, write_text

Document = Mapping[str, Any]  # JSON-ready; its "rows" are the lines of the table


def write_table(folder: Path, name: str, document: Document, markdown: str) -> None:
    """Write ``<name>.json``, ``<name>.csv`` (the document's rows) and ``<name>.md`` into ``folder``."""
    write_json(folder / f"{name}.json", dict(document))
    csv = pd.DataFrame(document["rows"]).to_csv(index=False, float_format="%.6f", lineterminator="\n")
    write_text(folder / f"{name}.csv", csv)
    write_text(folder / f"{name}.md", markdown)


def read_table(path: Path, keys: frozenset[str], remedy: str) -> Document:
    """Read a JSON document that has ``keys``; InputError with ``remedy`` if it is missing or another one."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError("no such file", remedy=remedy, file=path) from error
    except ValueError as error:
        raise InputError("not JSON", remedy=remedy, file=path) from error
    if not isinstance(document, dict) or not keys <= document.keys():
        raise InputError(f"has not all of {', '.join(sorted(keys))}", remedy=remedy, file=path)
    return document

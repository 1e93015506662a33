"""A table's three files: JSON, which the others are made from, CSV and Markdown; all three are sealed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fairway import jsontext
from fairway.analysis import wording
from fairway.errors import InputError
from fairway.files import is_sealed, sha256, without_seal, write_sealed, write_text

FROM_REPOSITORY = "take the file from the repository again"  # the remedy for a broken one that is kept there
PAGES = "pages"  # key of the checksums of a table's other files
_POLICY_COLUMNS = frozenset({"policy", "other", "p50_winner", "p99_winner"})

Document = Mapping[str, Any]  # JSON-ready; its "rows" are the lines of the table


def write_table(folder: Path, name: str, document: Document, markdown: str) -> None:
    """Write ``<name>.json``, ``<name>.csv`` (the document's rows) and ``<name>.md`` into ``folder``."""
    write_pages(folder, name, document, csv_of(document["rows"]), markdown)


def csv_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV, policies under the names that tables give them."""
    frame = pd.DataFrame([{column: _said(column, value) for column, value in row.items()} for row in rows])
    return str(frame.to_csv(index=False, float_format="%.6f", lineterminator="\n"))


def _said(column: str, value: Any) -> Any:
    return wording.policy(value) if column in _POLICY_COLUMNS and isinstance(value, str) else value


def write_pages(folder: Path, name: str, document: Document, csv: str, markdown: str) -> None:
    """Write a table's pages, and its JSON with their checksums and a seal."""
    pages = {f"{name}.csv": csv, f"{name}.md": markdown}
    for page, text in pages.items():
        write_text(folder / page, text)
    write_sealed(folder / f"{name}.json", {**document, PAGES: {page: sha256(folder / page) for page in pages}})


def edited_pages(table: Path) -> list[str]:
    """Return the names of a table's CSV and Markdown files that are there and no longer as they were written.

    Raises:
        InputError: the table itself is not there, or no longer as it was written.
    """
    pages = read_table(table, frozenset(), "run the workflow, which writes it").get(PAGES, {})
    there = [table.parent / page for page in pages if (table.parent / page).is_file()]
    return [page.name for page in there if sha256(page) != pages[page.name]]


def edited_lines(table: Path) -> list[str]:
    """Return what a table's lines rest on that was edited after it was written, as its column ``edited`` names it."""
    rows = read_table(table, frozenset(), "run the workflow, which writes it").get("rows", [])
    return sorted({row["edited"] for row in rows if row.get("edited")})


def read_table(
    path: Path,
    keys: frozenset[str],
    remedy: str,
    edited_remedy: str = "delete it and run the workflow, which makes it again",
) -> Document:
    """Read a sealed JSON document that has ``keys``; InputError with ``remedy`` if it is missing or another one.

    Where it was edited after it was written, or its seal was taken out, the InputError has ``edited_remedy``.
    """
    document = read_document(path, keys, remedy)
    if not is_sealed(document):
        raise InputError("was edited after it was written", remedy=edited_remedy, file=path)
    return without_seal(document)


def read_document(path: Path, keys: frozenset[str], remedy: str) -> Document:
    """Read a JSON document that has ``keys``; InputError if it is missing, or another one.

    ``remedy`` makes it anew; another one is to be deleted before.
    """
    try:
        document = jsontext.parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError("no such file", remedy=remedy, file=path) from error
    except (OSError, ValueError) as error:
        raise InputError("not JSON", remedy=f"delete it and {remedy}", file=path) from error
    if not isinstance(document, dict) or not keys <= document.keys():
        raise InputError(f"has not all of {', '.join(sorted(keys))}", remedy=f"delete it and {remedy}", file=path)
    return document

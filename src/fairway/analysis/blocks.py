"""The pages of the tables taken apart again, for readers of another kind than Markdown: the report, the paper.

Only what this package writes as Markdown is known: headings, paragraphs, lists and tables, apart by empty lines.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

_CELL = re.compile(r"(?<!\\)\|")
_INLINE = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*([^*]+)\*\*"), r"<strong>\1</strong>"),
)


@dataclass(frozen=True)
class Block:
    """One piece of a page: a "heading" or a "paragraph" of ``text``, a "list" of ``rows``, or a "table"."""

    kind: str
    text: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def blocks_of(page: str) -> tuple[Block, ...]:
    """Take a page apart."""
    return tuple(_block(part.strip("\n")) for part in re.split(r"\n{2,}", page) if part.strip())


def to_html(blocks: Sequence[Block]) -> str:
    """Return HTML of a page's pieces."""
    return "\n".join(map(_html, blocks))


def _block(part: str) -> Block:
    if part.startswith("#"):
        return Block("heading", part.lstrip("# "))
    lines = part.splitlines()
    if part.startswith("| "):
        header, _, *rows = map(_cells, lines)
        return Block("table", header=header, rows=tuple(rows))
    if part.startswith("* "):
        return Block("list", rows=tuple((line.removeprefix("* "),) for line in lines))
    return Block("paragraph", " ".join(lines))


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip().replace("\\|", "|") for cell in _CELL.split(line)[1:-1])


def _html(block: Block) -> str:
    if block.kind == "heading":
        return f"<h3>{_inline(block.text)}</h3>"
    if block.kind == "list":
        return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for (item,) in block.rows) + "</ul>"
    if block.kind == "table":
        head = "".join(f"<th>{_inline(cell)}</th>" for cell in block.header)
        body = "".join("<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in row) + "</tr>\n" for row in block.rows)
        return f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
    return f"<p>{_inline(block.text)}</p>"


def _inline(text: str) -> str:
    marked = html.escape(text, quote=False)
    for pattern, replacement in _INLINE:
        marked = pattern.sub(replacement, marked)
    return marked

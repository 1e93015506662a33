"""The README's generated parts: the text between two markers of one name."""

from __future__ import annotations

import textwrap
from pathlib import Path

from fairway.errors import InputError

_WIDTH = 120


def markers(name: str) -> tuple[str, str]:
    """Return the lines that begin and end the part called ``name``."""
    return f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"


def replace_between(text: str, name: str, part: str, file: Path) -> str:
    """Return ``text`` with ``part`` between its markers; InputError if they are not there once, in order."""
    begin, end = markers(name)
    head, found_begin, rest = text.partition(begin)
    _, found_end, tail = rest.partition(end)
    if not found_begin or not found_end or begin in tail or end in tail:
        raise InputError(
            f"has no place for the {name}", file=file, remedy=f"give it one {begin.strip()} and {end.strip()}"
        )
    return f"{head}{begin}{_wrapped(part.strip())}\n{end}{tail}"


def _wrapped(part: str) -> str:
    """Wrap the paragraphs and lists; the lines of a table have to stay whole."""
    lines = [[line] if line.startswith("|") else _wrap(line) for line in part.split("\n")]
    return "\n".join(line for some in lines for line in some)


def _wrap(line: str) -> list[str]:
    indent = "  " if line.startswith("* ") else ""
    return textwrap.wrap(line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [""]

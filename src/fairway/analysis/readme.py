"""The README's claims table: the text between two markers."""

from __future__ import annotations

from pathlib import Path

from fairway.errors import InputError

BEGIN, END = "<!-- claims table: begin -->\n", "<!-- claims table: end -->\n"


def with_table(text: str, table: str, file: Path) -> str:
    """Return ``text`` with ``table`` between its markers; InputError if they are not there once, in order."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end or BEGIN in tail or END in tail:
        raise InputError(
            "has no place for the claims table", file=file, remedy=f"give it one {BEGIN.strip()} and {END.strip()}"
        )
    return f"{head}{begin}{table.strip()}\n{end}{tail}"

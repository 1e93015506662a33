"""A filing's lines by section: the items of form 10-Q. The table of contents names items too and is none of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fairway.sources.edgar.markup import BETWEEN_CELLS

LONGEST_HEADING = 250  # characters
FEWEST_ITEMS = 3  # found by fewer, a filing has only an index that says on which pages its items are
_PART = re.compile(r"^part\s+(i{1,2}|[12])\b[\s.,:|\u2013\u2014-]*", re.IGNORECASE)
_ITEM = re.compile(r"^items?\s*(\d{1,2}[a-c]?)\b[\s.:|\u2013\u2014-]*", re.IGNORECASE)
_PAGE_AT_END = re.compile(r"(?:\||\.{2,}|\s)\s*(?:pages?\s+|F-)?\d{1,3}(?:\s*[-\u2013,]\s*\d{1,3})*$", re.IGNORECASE)
_MENTION = re.compile(r"\b(?:form 10-k|annual report|of this|of our|of the company|see|refer to)\b", re.IGNORECASE)
_SECOND = "II"
_PARTS = {"i": "I", "1": "I", "ii": _SECOND, "2": _SECOND}
# The two parts number their items alike; what the form calls them tells which part it is.
_TITLES = {
    ("1", "I"): r"financial\s+statements|financial\s+information",
    ("2", "I"): r"management",
    ("3", "I"): r"quantitative",
    ("4", "I"): r"controls",
    ("1", _SECOND): r"legal",
    ("2", _SECOND): r"unregistered|purchases|equity\s+securities",
    ("3", _SECOND): r"defaults?",
    ("4", _SECOND): r"mine\s+safety|submission|reserved",
}
_ONLY_SECOND = {"1A", "5", "6"}


@dataclass(frozen=True)
class Section:
    """A part of a filing; the cover, contents included, has neither part nor item."""

    part: str
    item: str
    title: str
    text: str


@dataclass(frozen=True)
class _Heading:
    line: int
    part: str
    item: str
    characters: int  # behind it up to the next line that could begin an item; -1 in the table of contents


def sections_of(lines: Sequence[str]) -> tuple[Section, ...]:
    """Cut a filing's lines into its items; all text is kept, in order.

    Of several lines that could begin an item the one with most text behind it does. A filing that names no items in
    its text is one section.
    """
    chosen = _fullest(list(_headings(lines)))
    starts = [heading.line for heading in chosen]
    cover = _section("", "", "", lines[: starts[0]] if starts else lines)
    items = [
        _section(heading.part, heading.item, _title(lines, heading.line), lines[heading.line : end])
        for heading, end in zip(chosen, [*starts[1:], len(lines)], strict=False)
    ]
    return tuple(section for section in [cover, *items] if section.text)


def _headings(lines: Sequence[str]) -> Iterator[_Heading]:
    """Yield the lines that could begin an item; of those that repeat one, as page headers do, the first."""
    found = _named(lines)
    while found:
        line, part, item = found[0]
        repeats = next((place for place, other in enumerate(found) if other[1:] != (part, item)), len(found))
        end = found[repeats][0] if repeats < len(found) else len(lines)
        first = next((other for other, *_ in found[:repeats] if not _PAGE_AT_END.search(lines[other])), None)
        characters = -1 if first is None else sum(map(len, lines[first + 1 : end]))
        yield _Heading(line if first is None else first, part, item, characters)
        found = found[repeats:]


def _named(lines: Sequence[str]) -> list[tuple[int, str, str]]:
    """Return place, part and item of each line that begins with an item's number."""
    part = ""
    found = []
    for place, line in enumerate(lines):
        if named := _PART.match(line):
            part = _PARTS[named[1].lower()]
            line = line[named.end() :]  # the first item may stand in the same line
        named = _ITEM.match(line)
        if named and len(line) <= LONGEST_HEADING and not _MENTION.search(line):
            item = named[1].upper()
            found.append((place, _part_of(item, _title(lines, place)) or part, item))
    return found


def _part_of(item: str, title: str) -> str:
    if item in _ONLY_SECOND:
        return _SECOND
    for (number, part), words in _TITLES.items():
        if number == item and re.match(rf"\W*(?:\w+\s+){{0,3}}?(?:{words})", title, re.IGNORECASE):
            return part
    return ""


def _fullest(headings: Sequence[_Heading]) -> list[_Heading]:
    """Return the heading of each item by place; none if there are too few."""
    fullest: dict[tuple[str, str], _Heading] = {}
    for heading in headings:
        key = (heading.part, heading.item)
        if heading.characters > 0 and (key not in fullest or heading.characters > fullest[key].characters):
            fullest[key] = heading
    chosen = sorted(fullest.values(), key=lambda heading: heading.line)
    return chosen if len(chosen) >= FEWEST_ITEMS else []


def _title(lines: Sequence[str], place: int) -> str:
    """Return what follows an item's number, in the same line or the next one."""
    rest = _ITEM.sub("", _PART.sub("", lines[place]))
    if not rest and place + 1 < len(lines):
        rest = lines[place + 1]
    return rest[:LONGEST_HEADING].replace(BETWEEN_CELLS, " ").strip()


def _section(part: str, item: str, title: str, lines: Sequence[str]) -> Section:
    return Section(part, item, title, "\n".join(lines))

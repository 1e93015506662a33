"""HTML and inline XBRL of a filing to lines of text: hidden facts and page furniture dropped, tables readable."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from lxml import etree

from fairway.errors import InputError

PAGE_BREAK = "\f"
BETWEEN_CELLS = " | "
# Elements whose content nobody sees. ix:exclude marks page furniture within a tagged text.
_UNSEEN = {"head", "script", "style", "title", "ix:header", "ix:hidden", "ix:exclude", "ix:references", "ix:resources"}
_UNSEEN_KINDS = ("xbrli", "xbrldi", "link")  # prefixes of what describes facts
_INLINE_XBRL = re.compile(r"""xmlns:([\w.-]+)\s*=\s*["']http://www\.xbrl\.org/\d{4}/inlineXBRL["']""", re.IGNORECASE)
_BLOCKS = {
    *("address", "blockquote", "body", "br", "center", "dd", "div", "dl", "dt", "h1", "h2", "h3", "h4", "h5", "h6"),
    *("hr", "li", "ol", "p", "pre", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"),
}
_CELLS = {"td", "th"}
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SET_OFF = re.compile(r"(?:padding|margin)-left\s*:\s*[1-9]", re.IGNORECASE)
_RAISED = re.compile(r"vertical-align\s*:\s*super|(?:^|;)\s*top\s*:\s*-[\d.]*[1-9]", re.IGNORECASE)
_NOTE_NUMBERS = re.compile(r"\s*\d{1,2}(?:,\s?\d{1,2})*\s*")
_SUPERSCRIPTS = str.maketrans("0123456789", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
_NEW_PAGE = re.compile(r"(?:page-break|break)-(?:before|after)\s*:\s*(?:always|page)", re.IGNORECASE)
_BULLET = re.compile(r"^(?:[•●◦▪■□·]|\d{1,2}\.)$")  # or a number that belongs to the next line
_OPENS = re.compile(r"^[$€£¥(]+$")  # what a table keeps in a cell of its own before a number
_CLOSES = re.compile(r"^[)%]+$")  # and behind it
_BEGINS_NUMBER, _ENDS_NUMBER = re.compile(r"^[(\d.\u2014\u2013-]"), re.compile(r"[\d)\u2014\u2013-]$")
# Where the parser gives up, and says so only in its log: all text from there on would be missing.
_GIVES_UP = {
    etree.ErrorTypes.ERR_RESOURCE_LIMIT,
    etree.ErrorTypes.ERR_INTERNAL_ERROR,
    etree.ErrorTypes.ERR_NO_MEMORY,
}
NEAR_BREAK = 6  # lines before and behind a page's end that may be its footer or the next one's header
FURNITURE_SHARE = 0.08  # of the pages that such a line stands on
FEWEST_PAGES = 4  # what stands on three is a sentence or a heading that is said again
LONGEST_FURNITURE = 150  # characters
_PAGE_NUMBER = re.compile(
    r"^(?:page\s+)?[-\u2013\u2014]?\s*(?:(?:F-|[A-Z]-)?\d{1,3}|[ivx]{1,5})\s*[-\u2013\u2014]?$", re.IGNORECASE
)
# A line of running text, no row or heading, that lacks its end; and one that lacks its beginning.
_CUT_OFF = re.compile(r"^(?!.* \| ).{60,}[^.!?:;\s]$")
_GOES_ON = re.compile(r"^(?!.* \| )[a-z]")
# A table's column headings: many pages begin with them, as they do with their own headers.
_COLUMNS = re.compile(
    r"\b(?:months|weeks)\b|^(?:[a-z]{3,9} \d{1,2},?|(?:19|20)\d\d)(?: \| (?:[a-z]{3,9} \d{1,2},?|(?:19|20)\d\d))+$",
    re.IGNORECASE,
)
_BACK_LINK = re.compile(r"^(?:back to )?(?:table of contents|index)$", re.IGNORECASE)
# Windows-1252's characters where a document has their numbers as they are (&#146;): Unicode has controls there.
_CONTROLS = {
    **{code: bytes([code]).decode("cp1252", "ignore") or None for code in range(0x80, 0xA0)},
    **dict.fromkeys([*range(0x00, 0x09), 0x0B, *range(0x0E, 0x20), 0x7F, 0xAD, 0x200B, 0x200C, 0x200D, 0xFEFF, 0xFFFD]),
    0xA0: " ",
}


def lines_of(document: str) -> list[str]:
    """Return the text of an HTML document, one line a paragraph or table row, without empty lines.

    A row's cells stand side by side, a currency, a bracket or a per cent sign at its number.

    Raises:
        InputError: it is nested deeper than the parser follows; with its line.
    """
    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    root = etree.fromstring(document.encode("utf-8", "ignore"), parser)
    _refuse_cut_off(parser)
    prefixes = {prefix.lower() for prefix in _INLINE_XBRL.findall(document)}
    return [] if root is None else without_furniture(_Reader(prefixes).read(root))


def _refuse_cut_off(parser: etree.HTMLParser) -> None:
    for error in parser.error_log:
        if error.type in _GIVES_UP:
            raise InputError(
                f"the document cannot be read behind line {error.line} ({error.message})",
                remedy="take the filing off the list, with edgar.listing in the sources file, or another filing in its "
                "place; some 2,000 nested elements are read",
            )


def plain_lines(document: str) -> list[str]:
    """Return the lines of an old filing that is plain text; its pages end with <PAGE>."""
    text = re.sub(r"<PAGE>", PAGE_BREAK, document, flags=re.IGNORECASE)
    text = re.sub(r"</?[A-Za-z][^<>\n]{0,80}>", "", text)
    kept = []
    for line in text.translate(_CONTROLS | {0x0C: f"\n{PAGE_BREAK}\n"}).split("\n"):
        kept.append(PAGE_BREAK if line == PAGE_BREAK else _plain_line(line))
    return without_furniture([line for line in kept if line])


def _plain_line(line: str) -> str:
    """Return a line of plain text; columns stand at least three blanks apart."""
    return BETWEEN_CELLS.join(" ".join(cell.split()) for cell in re.split(r"\s{3,}", line.strip()))


def without_furniture(lines: Sequence[str]) -> list[str]:
    """Drop page numbers, links to the contents, and what recurs at the pages' ends; and the marks of these ends."""
    lines = [*lines, PAGE_BREAK]  # the last page ends too
    breaks = [place for place, line in enumerate(lines) if line == PAGE_BREAK]
    edges = [edge for place in breaks for edge in _edges(lines, place)]
    recurring = Counter(_without_page(lines[place]) for edge in edges for place in edge)
    enough = max(FEWEST_PAGES, FURNITURE_SHARE * len(breaks))
    dropped = set(breaks)
    for edge in edges:
        # From the page's end on: behind the first line of the text proper everything is text.
        for place in edge:
            line = lines[place]
            if not (_PAGE_NUMBER.match(line) or _BACK_LINK.match(line)) and not (
                recurring[_without_page(line)] >= enough and _can_be_furniture(line)
            ):
                break
            dropped.add(place)
    kept = [place for place in range(len(lines)) if place not in dropped and not _BACK_LINK.match(lines[place])]
    return _joined_over_pages(lines, kept)


def _joined_over_pages(lines: Sequence[str], kept: Sequence[int]) -> list[str]:
    """Return the kept lines; a sentence that a page's end cuts in two is one line again."""
    joined: list[str] = []
    for place, before in zip(kept, [0, *kept], strict=False):
        line = lines[place]
        over_page = PAGE_BREAK in lines[before:place]
        if joined and over_page and _GOES_ON.match(line) and _CUT_OFF.search(joined[-1]):
            joined[-1] += f" {line}"
        else:
            joined.append(line)
    return joined


def _can_be_furniture(line: str) -> bool:
    return len(line) <= LONGEST_FURNITURE and not _COLUMNS.search(line)


def row_text(cells: Iterable[str]) -> str:
    """Return a table row as a line: cells without the empty ones, signs at their numbers."""
    parts: list[str] = []
    opened = ""
    for cell in filter(None, cells):
        if opened and not _OPENS.match(cell) and not _BEGINS_NUMBER.match(cell):
            parts.append(opened)  # a column's heading, not the sign of a number
            opened = ""
        if _OPENS.match(cell):
            opened += cell
        elif _CLOSES.match(cell) and parts and not opened and _ENDS_NUMBER.search(parts[-1]):
            parts[-1] += cell
        else:
            parts.append(opened + cell)
            opened = ""
    if opened:
        parts.append(opened)
    if len(parts) > 1 and _BULLET.match(parts[0]):
        parts[:2] = [f"{parts[0]} {parts[1]}"]
    return BETWEEN_CELLS.join(parts)


class _Reader:
    """Walks through a document and collects its lines."""

    def __init__(self, inline_xbrl: Iterable[str]) -> None:
        """``inline_xbrl``: the prefixes that the document gives to inline XBRL's elements, besides ix."""
        names = [tag.removeprefix("ix:") for tag in _UNSEEN if tag.startswith("ix:")]
        self._unseen = _UNSEEN | {f"{prefix}:{name}" for prefix in inline_xbrl for name in names}
        self._lines: list[str] = []
        self._pieces: list[str] = []  # of the line or cell under way
        self._cells: list[str] | None = None  # of the row under way
        self._depth = 0  # of elements within the cell under way, itself included; 0 outside of cells

    def read(self, root: etree._Element) -> list[str]:
        """Return the lines, marks of page ends among them."""
        walk = etree.iterwalk(root, events=("start", "end"))
        for event, element in walk:
            if event == "start":
                if self._is_unseen(element):
                    walk.skip_subtree()
                elif numbers := _note_numbers(element):
                    self._begin(element, numbers)
                    walk.skip_subtree()
                else:
                    self._begin(element)
            else:
                if not self._is_unseen(element):
                    self._end(element)
                self._pieces.append(element.tail or "")
        self._end_line()
        return self._lines

    def _is_unseen(self, element: etree._Element) -> bool:
        hidden = "hidden" in element.attrib or _HIDDEN.search(element.get("style", "")) is not None
        return hidden or element.tag in self._unseen or element.tag.partition(":")[0] in _UNSEEN_KINDS

    def _begin(self, element: etree._Element, instead: str = "") -> None:
        if self._depth:
            self._depth += 1
            if element.tag in _BLOCKS:
                self._pieces.append(" ")
        elif element.tag in _BLOCKS:
            self._end_line()
            if _NEW_PAGE.search(element.get("style", "")):
                self._lines.append(PAGE_BREAK)
            if element.tag in _CELLS and _is_data(element):
                self._depth = 1
            elif element.tag == "tr":
                self._cells = []
        elif _SET_OFF.search(element.get("style", "")):
            self._pieces.append(" ")  # a number and its heading, apart by style alone
        self._pieces.append(instead or element.text or "")

    def _end(self, element: etree._Element) -> None:
        if self._depth:
            self._depth -= 1
            if element.tag in _BLOCKS:
                self._pieces.append(" ")
            if self._depth == 0:
                self._end_cell()
        elif element.tag == "tr":
            self._end_line()
            self._end_row()
        elif element.tag in _BLOCKS:
            self._end_line()

    def _end_cell(self) -> None:
        text = _joined(self._pieces)
        self._pieces = []
        if self._cells is None:  # a cell outside of any row
            self._add(text)
        else:
            self._cells.append(text)

    def _end_row(self) -> None:
        self._add(row_text(self._cells or []))
        self._cells = None

    def _end_line(self) -> None:
        self._add(_joined(self._pieces))
        self._pieces = []

    def _add(self, line: str) -> None:
        if line and self._lines and _BULLET.match(self._lines[-1]):
            self._lines[-1] += f" {line}"  # laid out side by side without a table
        elif line:
            self._lines.append(line)


def _note_numbers(element: etree._Element) -> str:
    """Return the raised numbers of footnotes: behind a word or a number they would be read as part of it."""
    if element.tag != "sup" and not (element.tag not in _BLOCKS and _RAISED.search(element.get("style", ""))):
        return ""
    text = "".join(element.itertext())
    return text.translate(_SUPERSCRIPTS) if _NOTE_NUMBERS.fullmatch(text) else ""


def _is_data(cell: etree._Element) -> bool:
    """Say whether a cell belongs to a table of data, not to one that lays out other tables or whole pages."""
    return cell.find(".//table") is None


def _joined(pieces: Sequence[str]) -> str:
    return re.sub(r"\s+", " ", "".join(pieces).translate(_CONTROLS)).strip()


def _edges(lines: Sequence[str], place: int) -> tuple[list[int], list[int]]:
    """Return the places of the last lines of a page, backwards, and of the first ones of the next."""
    before = range(place - 1, max(-1, place - 1 - NEAR_BREAK), -1)
    behind = range(place + 1, min(len(lines), place + 1 + NEAR_BREAK))
    return list(before), list(behind)


def _without_page(line: str) -> str:
    """Return a line without the number at its beginning or end, which may be the page's."""
    return re.sub(r"^\d{1,3}\b|\b\d{1,3}$", "#", line)

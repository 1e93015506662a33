"""A filing's document as text: bytes to characters, and old submissions that are one text file."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from fairway.errors import InputError
from fairway.traces.numbered_lines import COMPRESSED, LFS_MARK

_NO_TEXT = {
    **COMPRESSED,
    b"%PDF-": ("a PDF file", "take the filing's HTML or text"),
    LFS_MARK: ("a Git LFS pointer", "run 'git lfs pull' in the repository it comes from, or fetch the document itself"),
}
_WIDE = {  # how a text begins whose characters take two or four bytes each; the longer marks first
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    b"<\0": "utf-16-le",
    b"\0<": "utf-16-be",
}
_WINDOWS = "cp1252"
# A character of UTF-8 that takes several bytes, or else a byte that belongs to none.
_BEYOND_ASCII = re.compile(rb"([\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})|[\x80-\xff]")
_DECLARED = re.compile(rb"""(?:encoding|charset)\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.IGNORECASE)
_DOCUMENT = re.compile(r"<DOCUMENT>(.*?)</DOCUMENT>", re.DOTALL | re.IGNORECASE)
_NOT_OF_DOCUMENTS = {
    *("utf-8", "ascii", "iso8859-1"),  # see `decode`
    *("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem"),  # Python's own
}
_TYPE = re.compile(r"<TYPE>\s*(\S+)", re.IGNORECASE)
_TEXT = re.compile(r"<TEXT>(.*?)(?:</TEXT>|\Z)", re.DOTALL | re.IGNORECASE)
_MARKUP = re.compile(r"<(?:html|body|div|table|p)\b", re.IGNORECASE)


def decode(content: bytes) -> str:
    """Return a document's characters, whatever the machine's own encoding is.

    UTF-16 or UTF-32 if that is how it begins, UTF-8 if that is what the bytes are; otherwise windows-1252 or what the
    document declares. What says that it is Latin-1 or ASCII is windows-1252 in fact, as browsers take it; where most of
    it is UTF-8 all the same, only the other bytes are.
    """
    for mark, name in _WIDE.items():
        if content.startswith(mark):
            return content.decode(name, "replace").replace("\ufffd", "")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        declared = _DECLARED.search(content[:1024])
        codec = _codec(declared[1].decode("ascii").lower()) if declared else _WINDOWS
        if codec == _WINDOWS and _is_mostly_utf_8(content):
            content, codec = _BEYOND_ASCII.sub(_as_utf_8, content), "utf-8-sig"
        return content.decode(codec, "replace").replace("\ufffd", "")


def _is_mostly_utf_8(content: bytes) -> bool:
    found = _BEYOND_ASCII.findall(content)
    return 2 * sum(map(bool, found)) > len(found)


def _as_utf_8(found: re.Match[bytes]) -> bytes:
    return found[1] or found[0].decode(_WINDOWS, "ignore").encode("utf-8")


def refuse_other_kinds(content: bytes, document: Path) -> None:
    """Raise InputError for a document whose bytes are no characters at all, as a server may send them unasked."""
    for mark, (what, remedy) in _NO_TEXT.items():
        if content.startswith(mark):
            raise InputError(f"this is {what}, not HTML or plain text", remedy=remedy, file=document)


def _codec(name: str) -> str:
    try:
        known = codecs.lookup(name)
    except LookupError:
        return _WINDOWS
    is_for_documents = known._is_text_encoding and known.name not in _NOT_OF_DOCUMENTS  # the mark that Python goes by
    return known.name if is_for_documents else _WINDOWS


def is_markup(text: str) -> bool:
    """Say whether a document is HTML rather than the plain text of old filings."""
    return _MARKUP.search(text[:20_000]) is not None


def primary_text(submission: str, form: str) -> str:
    """Return the document of the type ``form`` out of a whole submission in one text file.

    Raises:
        InputError: it has no such document.
    """
    for document in _DOCUMENT.findall(submission):
        kind, text = _TYPE.search(document), _TEXT.search(document)
        if kind and text and kind[1].upper() == form.upper():
            return str(text[1])
    raise InputError(f"the submission has no document of type {form}", remedy="take another filing")

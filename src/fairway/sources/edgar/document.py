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
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
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

    UTF-16 if that is what its mark says, UTF-8 if that is what the bytes are; otherwise windows-1252 or what the
    document declares. What says that it is Latin-1 or ASCII is windows-1252 in fact, as browsers take it.
    """
    if content.startswith(_UTF_16):
        return content.decode("utf-16", "replace").replace("\ufffd", "")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        declared = _DECLARED.search(content[:1024])
        name = declared[1].decode("ascii").lower() if declared else "cp1252"
        return content.decode(_codec(name), "replace").replace("\ufffd", "")


def refuse_other_kinds(content: bytes, document: Path) -> None:
    """Raise InputError for a document whose bytes are no characters at all, as a server may send them unasked."""
    for mark, (what, remedy) in _NO_TEXT.items():
        if content.startswith(mark):
            raise InputError(f"this is {what}, not HTML or plain text", remedy=remedy, file=document)


def _codec(name: str) -> str:
    try:
        known = codecs.lookup(name)
    except LookupError:
        return "cp1252"
    is_for_documents = known._is_text_encoding and known.name not in _NOT_OF_DOCUMENTS  # the mark that Python goes by
    return known.name if is_for_documents else "cp1252"


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

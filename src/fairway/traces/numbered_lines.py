"""The lines of a public file, with their numbers; what is not the file itself is told from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from fairway.errors import InputError
from fairway.traces.row import Place

LFS_MARK = b"version https://git-lfs"
_LFS_MARKS = (LFS_MARK, b"version https://hawser")  # its name before there was a first version
LFS_POINTER_BYTES = 1024  # a pointer is shorter than this by its specification
_PARQUET_MARK = b"PAR1"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
COMPRESSED = {  # how it begins: what it is, what helps
    b"\x1f\x8b": ("a gzip file", "unpack it"),
    b"\x28\xb5\x2f\xfd": ("a zstd file", "unpack it"),
    b"\xfd7zXZ": ("an xz file", "unpack it"),
    b"BZh": ("a bzip2 file", "unpack it"),
    b"PK\x03\x04": ("a zip archive", "unpack it"),
}
_OTHERS = {
    **COMPRESSED,
    b"\xff\xfe": ("a text in UTF-16", "convert it to UTF-8"),
    b"\xfe\xff": ("a text in UTF-16", "convert it to UTF-8"),
    b"<!doctype": ("a web page", "download the file itself"),
    b"<html": ("a web page", "download the file itself"),
    b"<?xml": ("an XML page", "download the file itself"),
    b"/annex/objects/": ("a git-annex pointer", "run 'git annex get' in the repository it comes from"),
}


def numbered_lines(path: Path) -> Iterator[tuple[Place, bytes]]:
    """Yield each line with its place.

    Raises:
        InputError: the file cannot be read, is a Git LFS pointer, compressed, in UTF-16, Parquet or a web page.
    """
    try:
        with path.open("rb") as file:
            refuse_stand_ins(file, path)
            _refuse_parquet(file, path)
            for number, line in enumerate(file, start=1):
                yield Place(path, number), line
    except OSError as error:
        raise InputError(
            f"the file cannot be read ({error.strerror})", remedy="check the path, or build the file first", file=path
        ) from error


def refuse_stand_ins(file: BinaryIO, path: Path) -> None:
    """Refuse a file, open at its beginning, that is not the trace itself; else leave it at its beginning."""
    beginning = file.read(LFS_POINTER_BYTES).removeprefix(_BYTE_ORDER_MARK).lstrip()
    file.seek(0)
    _refuse_lfs_pointer(beginning, path)
    _refuse_others(beginning, path)


def _refuse_lfs_pointer(beginning: bytes, path: Path) -> None:
    if not beginning.startswith(_LFS_MARKS):
        return
    size = re.search(rb"^size (\d{1,18})\s*$", beginning, re.MULTILINE)
    bytes_text = f"{int(size[1]):,} bytes" if size else "unknown size"
    raise InputError(
        f"this is a Git LFS pointer to a file of {bytes_text}, not the trace",
        remedy="run 'git lfs pull' in the repository it comes from, or download the file itself",
        file=path,
    )


def _refuse_parquet(file: BinaryIO, path: Path) -> None:
    if file.read(len(_PARQUET_MARK)) == _PARQUET_MARK:
        raise InputError(
            "this is a Parquet file, not the lines of a trace",
            remedy="give it a name that ends in .parquet, or convert it",
            file=path,
        )
    file.seek(0)


def _refuse_others(beginning: bytes, path: Path) -> None:
    for mark, (what, remedy) in _OTHERS.items():
        if beginning.lower().startswith(mark.lower()):
            raise InputError(f"this is {what}, not the lines of a trace", remedy=remedy, file=path)

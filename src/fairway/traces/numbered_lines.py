"""The lines of a public file, with their numbers; a Git LFS pointer is told from the file that it stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from fairway.errors import InputError
from fairway.traces.row import Place

LFS_MARK = b"version https://git-lfs"
LFS_POINTER_BYTES = 1024  # a pointer is shorter than this by its specification


def numbered_lines(path: Path) -> Iterator[tuple[Place, bytes]]:
    """Yield each line with its place.

    Raises:
        InputError: the file cannot be read or is a Git LFS pointer.
    """
    try:
        with path.open("rb") as file:
            _refuse_lfs_pointer(file.read(LFS_POINTER_BYTES), path)
            file.seek(0)
            for number, line in enumerate(file, start=1):
                yield Place(path, number), line
    except OSError as error:
        raise InputError(
            f"the trace cannot be read ({error.strerror})", remedy="check the path, or build the trace first", file=path
        ) from error


def _refuse_lfs_pointer(beginning: bytes, path: Path) -> None:
    if not beginning.startswith(LFS_MARK):
        return
    size = re.search(rb"^size (\d{1,18})$", beginning, re.MULTILINE)
    bytes_text = f"{int(size[1]):,} bytes" if size else "unknown size"
    raise InputError(
        f"this is a Git LFS pointer to a file of {bytes_text}, not the trace",
        remedy="run 'git lfs pull' in the repository it comes from, or download the file itself",
        file=path,
    )

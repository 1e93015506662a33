"""Compiles the core's functions and keeps the machine code on disk, so that only the first process waits for it.

Numba tells a changed function by its own file alone, although the machine code holds what it calls in other files too.
So the code of one state of this room and of numba lies in a folder of its own: it cannot be taken for another's.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])

_SETTINGS: Any = numba.config  # filled from the environment, so its names are known at run time alone
_NJIT: Any = numba.njit  # one of its options has no type there

# Makes a number 64 bits wide in compiled code: a function is compiled once for each combination of types it is given.
int64: Callable[[Any], int] = cast(Any, np.int64)


def inner(function: Function, *, makes_arrays: bool = False) -> Function:
    """Return ``function`` compiled for other compiled functions alone, as part of what they are kept as."""
    return _jit(function, makes_arrays, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def inlined(function: Function) -> Function:
    """Return ``function`` as a part of its callers: for what takes more arrays than a call should hand over."""
    return _jit(function, False, inline="always", no_cpython_wrapper=True, no_cfunc_wrapper=True)


def compiled(function: Function, *, makes_arrays: bool = False) -> Function:
    """Return ``function`` compiled on its first call, with numpy's rules for division by zero and without fast math.

    Unless it ``makes_arrays`` it counts no references to those that it is given, which would cost as much as its work:
    whoever calls it holds them.
    """
    folder = _folder()
    if folder is None:
        return _jit(function, makes_arrays)
    before = _SETTINGS.CACHE_DIR
    _SETTINGS.CACHE_DIR = str(folder)  # read while the function is decorated, and by nobody else meanwhile
    try:
        return _jit(function, makes_arrays, cache=True)
    finally:
        _SETTINGS.CACHE_DIR = before


def _jit(function: Function, makes_arrays: bool, **options: Any) -> Function:
    return cast(Function, _NJIT(error_model="numpy", nogil=True, _nrt=makes_arrays, **options)(function))


@cache
def _folder() -> Path | None:
    """Return a writable folder for this state of the code, or None: then every process compiles for itself."""
    return writable_folder([base / f"fairway-core-{_digest()}" for base in _bases()])


def writable_folder(folders: Sequence[Path]) -> Path | None:
    """Return the first of ``folders`` that can be made and written to."""
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        return folder
    return None


def _bases() -> list[Path]:
    """Return what ``NUMBA_CACHE_DIR`` names, then the user's cache; never the sources' own folder."""
    named = [Path(_SETTINGS.CACHE_DIR)] if _SETTINGS.CACHE_DIR else []
    of_user = os.environ.get("XDG_CACHE_HOME") or Path("~").expanduser() / ".cache"
    return [*named, Path(of_user)]


def _digest() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]

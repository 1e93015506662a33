"""What every script shares: one place that turns bad input into one line and an exit status; checked numbers."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fairway.errors import EXIT_BAD_INPUT, InputError

# What is in no environment of `make reproduce`, by import name, and what sets it up.
SET_UP_BY = {
    **dict.fromkeys(["datasets", "llama_models", "lxml", "tiktoken"], "make real-env"),
    **dict.fromkeys(
        ["aiohttp", "prometheus_client", "torch", "vllm"], "make vllm-env, and run it with .venv-vllm/bin/python"
    ),
}
_LONGEST_NAME = 200  # a file system has 255 bytes, of which the names' ends take some
MOST = 10**12  # more tokens, blocks or seeds than anybody has


def run(main: Callable[[], int]) -> None:
    """Run a script's ``main`` and exit with its status; bad input prints one line and exits with status 2.

    Bad input is also a path that cannot be read or written, a size that the memory does not hold, and a package that
    has an environment of its own.
    """
    try:
        status = main()
    except InputError as error:
        status = _refuse(str(error))
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        status = _refuse(
            f"{where}{error.strerror or error}. Remedy: check the path, its permissions and the space left."
        )
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in SET_UP_BY:
            raise
        status = _refuse(f"the package {package} is not installed. Remedy: {SET_UP_BY[package]}.")
    except MemoryError:
        status = _refuse("the memory does not hold that. Remedy: give smaller sizes.")
    sys.exit(status)


def _refuse(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return EXIT_BAD_INPUT


class _WithoutPandas:
    """An importer that finds no pandas."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is kept from pyarrow", name=name)


def spare_pandas() -> None:
    """Let pyarrow find no pandas: it would import it, which takes as long as a replay, to know its types.

    It looks once in a process, at the first array. Everybody else, such as a policy, finds pandas afterwards.
    """
    without = _WithoutPandas()
    sys.meta_path.insert(0, without)
    try:
        importlib.import_module("pyarrow").array([])
    finally:
        sys.meta_path.remove(without)


def in_step(arguments: argparse.Namespace, *names: str) -> Iterator[tuple[Any, ...]]:
    """Yield the values of repeated options together: the first of each, the second of each, and so on.

    Raises `InputError` if they were not given equally often.
    """
    given = [getattr(arguments, name) for name in names]
    if len({len(values) for values in given}) > 1:
        options = " and ".join(f"--{name.replace('_', '-')}" for name in names)
        raise InputError(f"{options} are not given equally often", remedy="give each once a workload")
    return zip(*given, strict=True)


def refuse_overwriting(out: Path, *read: Path) -> None:
    """Raise `InputError` if a script would write over a file that it reads."""
    for path in read:
        if out.exists() and path.exists() and out.samefile(path):
            raise InputError("is the file to be read, and would be written over", remedy="give another --out", file=out)


def file_name(text: str) -> str:
    """Read a name for files, without a folder, as an argparse type."""
    is_plain = Path(text).name == text and text.isprintable() and 0 < len(text) <= _LONGEST_NAME
    if text.startswith(".") or not is_plain:
        raise argparse.ArgumentTypeError(f"{text!r} is no name of a file")
    return text


def file_path(text: str) -> Path:
    """Read the path of a file to write, as an argparse type."""
    path = Path(text)
    if text.endswith("/") or not path.name or (path.exists() and not path.is_file()):
        raise argparse.ArgumentTypeError(f"{text!r} is no file")
    return path


def positive(text: str) -> int:
    """Read a whole number of at least 1, as an argparse type."""
    return _whole(text, 1)


def not_negative(text: str) -> int:
    """Read a whole number of at least 0, as an argparse type."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    value = int(text) if text.isascii() and text.lstrip("+-").isdigit() and len(text) < 100 else None
    if value is None or not least <= value <= MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} to {MOST:,}")
    return value

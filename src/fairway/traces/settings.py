"""Settings files as frozen dataclasses: the dataclass says which keys there are and of which types."""

from __future__ import annotations

import dataclasses
import difflib
import types
from collections.abc import Iterable
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from fairway.errors import InputError
from fairway.yamlfile import KeyPath, YamlFile

T = TypeVar("T")


def settings(kind: type[T], source: YamlFile, path: KeyPath = ()) -> T:
    """Build the dataclass ``kind`` from the mapping at ``path``.

    Supports nested dataclasses, tuples, unions, int, float, str and bool. A dataclass refuses values by raising
    ValueError in ``__post_init__``.

    Raises:
        InputError: an unknown or missing key, a value of another type, or a refused value; with file and line.
    """
    values = source.value(path)
    if not isinstance(values, dict):
        raise _fault(source, path, f"{_dotted(path)}: a mapping of keys is expected", "write it as 'key: value'")
    hints = get_type_hints(kind)
    _check_keys(values, hints, source, path)
    arguments = {name: _value(hint, source, (*path, name)) for name, hint in hints.items()}
    try:
        return kind(**arguments)
    except ValueError as error:
        where = f"{_dotted(path)}: " if path else ""
        raise _fault(source, path, f"{where}{error}", "change the value") from error


def _check_keys(values: dict[str, Any], known: Iterable[str], source: YamlFile, path: KeyPath) -> None:
    known = list(known)
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            meant = f"did you mean {near[0]!r}? " if near else ""
            raise _fault(source, (*path, key), f"unknown key {key!r}", f"{meant}known keys: {', '.join(known)}")
    for key in known:
        if key not in values:
            raise _fault(source, path, f"key {_dotted((*path, key))!r} is missing", "add it")


def _value(hint: Any, source: YamlFile, path: KeyPath) -> Any:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return settings(hint, source, path)
    value = source.value(path)
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise _fault(source, path, f"{_dotted(path)}: a list is expected", "write one '- ' item a line")
        return tuple(_value(get_args(hint)[0], source, (*path, place)) for place in range(len(value)))
    allowed = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if type(value) in allowed:
        return value
    if type(value) is int and float in allowed:
        return float(value)
    names = " or ".join(kind.__name__ for kind in allowed)
    raise _fault(source, path, f"{_dotted(path)} is {value!r}, not of type {names}", f"give a value of type {names}")


def _fault(source: YamlFile, path: KeyPath, problem: str, remedy: str) -> InputError:
    return InputError(problem, remedy=remedy, file=source.file, line=source.lines.get(path))


def _dotted(path: KeyPath) -> str:
    return ".".join(str(key + 1) if isinstance(key, int) else key for key in path)

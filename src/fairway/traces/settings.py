"""Settings files as frozen dataclasses: the dataclass says which keys there are and of which types.

A field with a default may be left out. Where one of several dataclasses is meant, the key ``kind`` says which: each of
them declares it as a ``Literal``.
"""

from __future__ import annotations

import dataclasses
import difflib
import types
from collections.abc import Iterable
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from fairway.errors import InputError
from fairway.yamlfile import KeyPath, YamlFile

T = TypeVar("T")


def settings(kind: type[T], source: YamlFile, path: KeyPath = ()) -> T:
    """Build the dataclass ``kind`` from the mapping at ``path``.

    Supports nested dataclasses, tuples, unions, literals, None, int, float, str and bool. A dataclass refuses values by
    raising ValueError in ``__post_init__``.

    Raises:
        InputError: an unknown or missing key, a value of another type, or a refused value; with file and line.
    """
    values = source.value(path)
    if not isinstance(values, dict):
        raise _fault(source, path, f"{_dotted(path)}: a mapping of keys is expected", "write it as 'key: value'")
    hints = get_type_hints(kind)
    _check_keys(values, kind, source, path)
    arguments = {name: _value(hint, source, (*path, name)) for name, hint in hints.items() if name in values}
    try:
        return kind(**arguments)
    except ValueError as error:
        where = f"{_dotted(path)}: " if path else ""
        raise _fault(source, path, f"{where}{error}", "change the value") from error


def _check_keys(values: dict[str, Any], kind: Any, source: YamlFile, path: KeyPath) -> None:
    known = {field.name: field for field in dataclasses.fields(kind)}
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            meant = f"did you mean {near[0]!r}? " if near else ""
            raise _fault(source, (*path, key), f"unknown key {key!r}", f"{meant}known keys: {', '.join(known)}")
    for key, field in known.items():
        if key not in values and field.default is dataclasses.MISSING:
            raise _fault(source, path, f"key {_dotted((*path, key))!r} is missing", "add it")


def _value(hint: Any, source: YamlFile, path: KeyPath) -> Any:
    value = source.value(path)
    allowed = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if value is None and types.NoneType in allowed:
        return None
    nested = [kind for kind in allowed if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
    if nested:
        return settings(nested[0] if len(nested) == 1 else _meant(nested, source, path), source, path)
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise _fault(source, path, f"{_dotted(path)}: a list is expected", "write one '- ' item a line")
        return tuple(_value(get_args(hint)[0], source, (*path, place)) for place in range(len(value)))
    if get_origin(hint) is Literal:
        return _one_of(get_args(hint), source, path)
    if type(value) in allowed:
        return value
    if type(value) is int and float in allowed:
        return float(value)
    names = " or ".join(kind.__name__ for kind in allowed)
    raise _fault(source, path, f"{_dotted(path)} is {value!r}, not of type {names}", f"give a value of type {names}")


def _meant(kinds: Iterable[Any], source: YamlFile, path: KeyPath) -> Any:
    """Return the dataclass that the key ``kind`` names."""
    by_name = {get_args(get_type_hints(kind)["kind"])[0]: kind for kind in kinds}
    values = source.value(path)
    if not isinstance(values, dict) or "kind" not in values:
        raise _fault(source, path, f"key {_dotted((*path, 'kind'))!r} is missing", f"give one of: {', '.join(by_name)}")
    return by_name[_one_of(by_name, source, (*path, "kind"))]


def _one_of(names: Iterable[str], source: YamlFile, path: KeyPath) -> str:
    value = source.value(path)
    if not isinstance(value, str) or value not in list(names):
        raise _fault(source, path, f"{_dotted(path)} is {value!r}", f"give one of: {', '.join(names)}")
    return value


def _fault(source: YamlFile, path: KeyPath, problem: str, remedy: str) -> InputError:
    file, line = source.place(path)
    return InputError(problem, remedy=remedy, file=file, line=line)


def _dotted(path: KeyPath) -> str:
    return ".".join(str(key + 1) if isinstance(key, int) else key for key in path)

"""YAML files whose every value knows its line."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from fairway.errors import InputError

KeyPath = tuple[str | int, ...]
_TEXT = "tag:yaml.org,2002:str"


@dataclass(frozen=True)
class YamlFile:
    """What a YAML file says, and where: ``lines`` gives the line, from 1 on, of every path of keys and list places.

    Where another file's values were put over this one's, ``files`` says which paths are that other file's.
    """

    file: Path
    values: dict[str, Any]
    lines: dict[KeyPath, int]
    files: dict[KeyPath, Path] = field(default_factory=dict)

    def value(self, path: KeyPath) -> Any:
        """Return the value at ``path``; raises KeyError where ``lines`` does not have the path."""
        value: Any = self.values
        for key in path:
            value = value[key]
        return value

    def place(self, path: KeyPath) -> tuple[Path, int | None]:
        """Return the file and the line, if known, that ``path`` stands in."""
        return self.files.get(path, self.file), self.lines.get(path)

    def part(self, key: str) -> YamlFile:
        """Return what stands under ``key``, a mapping, as if it were the whole file."""
        inside = {path[1:]: line for path, line in self.lines.items() if path[0] == key and len(path) > 1}
        return YamlFile(self.file, self.values[key], inside)

    def without(self, key: str) -> YamlFile:
        """Return this file without what stands under ``key``, if anything does."""
        values = {name: value for name, value in self.values.items() if name != key}
        return YamlFile(self.file, values, {path: line for path, line in self.lines.items() if path[0] != key})

    def under(self, changes: YamlFile) -> YamlFile:
        """Return this file with the values of ``changes`` put over its own, key by key; lists are replaced whole."""
        merged = copy.deepcopy(self.values)
        merge(merged, changes.values)
        lines = self.lines | changes.lines
        files = self.files | dict.fromkeys(changes.lines, changes.file)
        return YamlFile(self.file, merged, lines, files)


def merge(values: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Put ``more`` over ``values``, mappings key by key."""
    for key, value in more.items():
        if isinstance(value, Mapping) and isinstance(values.get(key), dict):
            merge(values[key], value)
        else:
            values[key] = value


def assignments(texts: Sequence[str], option: str) -> dict[str, Any]:
    """Read the ``KEY=VALUE`` of a command line's ``option``, each value as YAML.

    Raises `InputError` for what is no assignment, a value that is no YAML, and a key that stands twice.
    """
    values: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise InputError(f"{option} {text!r} is no KEY=VALUE", remedy=f"write it like {option} fast_weight=8")
        if key in values:
            raise InputError(f"{option} {text!r}: key {key!r} stands twice", remedy="keep one of them")
        try:
            values[key] = yaml.safe_load(value)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise InputError(
                f"{option} {text!r}: no valid value", remedy="write a number, a word, true or false"
            ) from error
    return values


def read_yaml(file: Path) -> YamlFile:
    """Read a mapping.

    Raises `InputError` with file and line for what is no UTF-8 or no YAML, for keys that stand twice or are no text,
    and for aliases and tags, which settings have no use for.
    """
    try:
        with file.open(encoding="utf-8") as text:
            loader = yaml.SafeLoader(text)
            root = loader.get_single_node()
            lines = dict(_lines(root, (), file, set()))
            values = loader.construct_document(root) if root else None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise InputError(f"no valid YAML: {error.problem}", remedy="mend the syntax", file=file, line=line) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError("no valid YAML: not a UTF-8 text", remedy="save it as UTF-8", file=file) from error
    except (ValueError, RecursionError) as error:  # such as the date 2026-13-45, or ten thousand brackets
        raise InputError(f"no valid YAML: {error}", remedy="put texts in quotes", file=file) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", remedy="name a readable file", file=file) from error
    if not isinstance(values, dict):
        raise InputError("a mapping of keys is expected", remedy="write it as 'key: value'", file=file, line=1)
    return YamlFile(file, values, lines)


def _lines(node: yaml.Node | None, path: KeyPath, file: Path, met: set[int]) -> Iterator[tuple[KeyPath, int]]:
    if node is None:
        return
    if id(node) in met:
        raise _fault("aliases are not supported", "write the value out", file, node)
    met.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for place, item in enumerate(node.value):
            yield (*path, place), item.start_mark.line + 1
            yield from _lines(item, (*path, place), file, met)
    if isinstance(node, yaml.MappingNode):
        yield from _mapping_lines(node, path, file, met)


def _mapping_lines(node: yaml.MappingNode, path: KeyPath, file: Path, met: set[int]) -> Iterator[tuple[KeyPath, int]]:
    keys: set[str] = set()
    for key, value in node.value:
        if key.tag != _TEXT:
            raise _fault("a key is no text", "put it in quotes or take it out", file, key)
        if key.value in keys:
            raise _fault(f"key {key.value!r} stands twice", "keep one of them", file, key)
        keys.add(key.value)
        yield (*path, key.value), key.start_mark.line + 1
        yield from _lines(value, (*path, key.value), file, met)


def _fault(problem: str, remedy: str, file: Path, node: yaml.Node) -> InputError:
    return InputError(problem, remedy=remedy, file=file, line=node.start_mark.line + 1)

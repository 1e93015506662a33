"""Reads a profile from its TOML or JSON file, or a shipped one by name."""

from __future__ import annotations

import hashlib
import itertools
import math
import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NoReturn

from fairway import jsontext
from fairway.errors import InputError
from fairway.files import SEAL, is_sealed, without_seal
from fairway.profile.step_time import (
    Attention,
    AttentionFit,
    AttentionTable,
    Linear,
    LinearFit,
    LinearTable,
    LongContextFit,
    Profile,
)

FORMAT = 1
_SUFFIXES = frozenset({".toml", ".json"})
EVIDENCE = ("modelled", "measured")
PREVIEW = "prefill_preview"  # key of what check_profile.py adds for people
MEASUREMENT = "measurement"  # key of how a profile was measured, for people
_KEYS = ("format", "name", "device", "model", "evidence", "source", "efficiency", "linear", "attention")
_MOST_TOKENS = 1 << 17  # of a prompt
_MOST_MS = 1e9  # that they may take in one step: 11 days, more is a unit taken for another
_MAKE_AGAIN = "delete it, and run again what made it: the workflow, make measured or a script"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_SHIPPED = resources.files("fairway.profile") / "data"


def profile_names() -> list[str]:
    """Return the names of the shipped profiles, sorted."""
    return sorted(entry.name.removesuffix(".toml") for entry in _SHIPPED.iterdir() if entry.name.endswith(".toml"))


def load_profile(source: Path | str) -> Profile:
    """Return the profile in a ``.toml`` or ``.json`` file, or the shipped one of that name.

    Raises `InputError` for an unknown name, a broken or edited file, an unknown key, and values that are missing,
    negative, falling, not finite or beyond any device.
    """
    return profile_from(read_document(source), str(source))


def read_document(source: Path | str) -> Mapping[str, Any]:
    """Return the parsed profile file, its values unchecked; `InputError` if it is broken, or edited under its seal."""
    path = Path(source)
    if path.suffix not in _SUFFIXES:
        return tomllib.loads(_file_of(source).read_text(encoding="utf-8"))
    try:
        text = path.read_text(encoding="utf-8-sig")
        document = tomllib.loads(text) if path.suffix == ".toml" else jsontext.parse(text)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path, remedy="check the path") from error
    except (ValueError, RecursionError) as error:  # bad UTF-8, TOML or JSON
        raise InputError(f"is no valid {path.suffix[1:]}: {error}", file=path, remedy="mend or restore it") from error
    if not isinstance(document, dict):
        raise InputError("holds no table of keys", file=path, remedy="mend or restore it")
    if _is_made_by_a_script(document, path) and not is_sealed(document):
        raise InputError("was edited after it was written", file=path, remedy=_MAKE_AGAIN)
    return without_seal(document)


def _is_made_by_a_script(document: Mapping[str, Any], path: Path) -> bool:
    """Say whether ``document`` must have a seal: scripts write JSON and seal it, people mostly write neither."""
    return SEAL in document or (path.suffix == ".json" and bool(document.keys() & {PREVIEW, MEASUREMENT}))


def sha256_of_profile(source: Path | str) -> str:
    """Return the checksum of a profile's file, in hexadecimal; `InputError` for an unknown name."""
    return hashlib.sha256(_file_of(source).read_bytes()).hexdigest()


def _file_of(source: Path | str) -> Path | Traversable:
    path = Path(source)
    if path.suffix in _SUFFIXES:
        return path
    if str(source) in profile_names():
        return _SHIPPED / f"{source}.toml"
    raise InputError(
        f"unknown profile {str(source)!r}", remedy=f"give a .toml or .json file or one of {', '.join(profile_names())}"
    )


def profile_from(document: Mapping[str, Any], file: str) -> Profile:
    """Check a parsed profile and build it; ``file`` is for messages."""
    fields = _Fields(document, file)
    fields.only(*_KEYS, PREVIEW, MEASUREMENT)
    if type(fields.get("format")) is not int or fields.get("format") != FORMAT:
        fields.fail("format", f"must be {FORMAT}")
    evidence = fields.text("evidence")
    if evidence not in EVIDENCE:
        fields.fail("evidence", f"must be one of {', '.join(EVIDENCE)}")
    if evidence == "measured" and not fields.values.get(MEASUREMENT):
        fields.fail("evidence", f"is 'measured', but no {MEASUREMENT!r} says how; scripts/measure_profile.py does")
    efficiency = fields.number("efficiency", above=0.0)
    linear, attention = fields.table("linear"), fields.table("attention")
    linear.only("fit", "table")
    attention.only("fit", "table")
    profile = Profile(
        name=fields.name("name"),
        device=fields.line("device"),
        model=fields.line("model"),
        evidence=evidence,
        source=fields.text("source"),
        efficiency=efficiency,
        linear=Linear(_linear_fit(linear.table("fit")), _linear_table(linear)),
        attention=Attention(_attention_fit(attention.table("fit")), _attention_table(attention)),
    )
    longest_ms = (profile.linear.ms(_MOST_TOKENS) + profile.attention.ms(_MOST_TOKENS, _MOST_TOKENS)) / efficiency
    if not longest_ms <= _MOST_MS:
        fields.fail(
            "linear, attention or efficiency", f"makes a step of {_MOST_TOKENS:,} tokens take {longest_ms:.3g} ms"
        )
    return profile


def _linear_fit(fields: _Fields) -> LinearFit:
    fields.only("floor_ms", "constant_ms", "per_token_ms")
    return LinearFit(fields.number("floor_ms", above=0.0), fields.number("constant_ms"), fields.number("per_token_ms"))


def _attention_fit(fields: _Fields) -> AttentionFit:
    fields.only("floor_ms", "constant_ms", "per_context_token_ms", "long")
    return AttentionFit(
        fields.number("floor_ms"),
        fields.number("constant_ms"),
        fields.number("per_context_token_ms"),
        _long_context_fit(fields.table("long")) if "long" in fields.values else None,
    )


def _long_context_fit(fields: _Fields) -> LongContextFit:
    fields.only("above_product", "per_new_token_ms", "per_context_token_ms", "per_product_ms")
    return LongContextFit(
        fields.whole("above_product"),
        fields.number("per_new_token_ms"),
        fields.number("per_context_token_ms"),
        fields.number("per_product_ms"),
    )


def _linear_table(fields: _Fields) -> LinearTable | None:
    if "table" not in fields.values:
        return None
    table = fields.table("table")
    table.only("tokens", "ms")
    tokens = table.axis("tokens")
    return LinearTable(tokens, table.row("ms", table.get("ms"), len(tokens), above=0.0))


def _attention_table(fields: _Fields) -> AttentionTable | None:
    if "table" not in fields.values:
        return None
    table = fields.table("table")
    table.only("new_tokens", "prefix_tokens", "ms")
    new_tokens, prefix_tokens = table.axis("new_tokens"), table.axis("prefix_tokens")
    rows = table.get("ms")
    if not isinstance(rows, list) or len(rows) != len(new_tokens):
        table.fail("ms", f"must have one row for each of the {len(new_tokens)} new_tokens")
    grid = tuple(table.row(f"ms[{index}]", row, len(prefix_tokens)) for index, row in enumerate(rows))
    for index, (low, high) in enumerate(itertools.pairwise(grid)):
        if any(after < before for before, after in zip(low, high, strict=True)):
            table.fail(f"ms[{index + 1}]", "falls below the row before it")
    return AttentionTable(new_tokens, prefix_tokens, grid)


class _Fields:
    """Typed access to one table of a profile file; every complaint names file and key."""

    def __init__(self, values: Mapping[str, Any], file: str, prefix: str = "") -> None:
        self.values = values
        self._file = file
        self._prefix = prefix

    def fail(self, key: str, problem: str) -> NoReturn:
        raise InputError(f"{self._prefix}{key} {problem}", file=self._file, remedy="mend the profile")

    def only(self, *known: str) -> None:
        """Refuse other keys: a misspelt one would be passed over in silence."""
        for key in self.values:
            if key not in known:
                self.fail(str(key), f"is not known; known: {', '.join(known)}")

    def get(self, key: str) -> Any:
        if key not in self.values:
            self.fail(key, "is missing")
        return self.values[key]

    def text(self, key: str) -> str:
        value = self.get(key)
        if not isinstance(value, str) or not value:
            self.fail(key, "must be a text")
        return str(value)

    def line(self, key: str) -> str:
        """Return what stands in a line or a cell of a table."""
        value = self.text(key)
        if not value.isprintable():
            self.fail(key, "must be a text of one line")
        return value

    def name(self, key: str) -> str:
        """Return what names files and stands in tables."""
        value = self.text(key)
        if not _NAME.fullmatch(value):
            self.fail(key, f"is {value!r}; it must begin with a letter or digit, and have only those and . _ + -")
        return value

    def whole(self, key: str) -> int:
        value = self.number(key)
        if not value.is_integer():
            self.fail(key, f"must be a whole number, not {value!r}")
        return int(value)

    def table(self, key: str) -> _Fields:
        value = self.get(key)
        if not isinstance(value, dict):
            self.fail(key, "must be a table")
        return _Fields(value, self._file, f"{self._prefix}{key}.")

    def number(self, key: str, above: float | None = None) -> float:
        return self._number(key, self.get(key), above)

    def axis(self, key: str) -> tuple[int, ...]:
        values = self.get(key)
        if not isinstance(values, list) or not values or not all(type(value) is int for value in values):
            self.fail(key, "must be a list of whole numbers")
        if values[-1] >= 1 << 31:
            self.fail(key, "must stay below 2^31 tokens")
        if values[0] < 0 or any(after <= before for before, after in itertools.pairwise(values)):
            self.fail(key, "must rise from 0 or more")
        return tuple(values)

    def row(self, key: str, values: Any, length: int, above: float | None = None) -> tuple[float, ...]:
        if not isinstance(values, list) or len(values) != length:
            self.fail(key, f"must be a list of {length} numbers")
        row = tuple(self._number(f"{key}[{index}]", value, above) for index, value in enumerate(values))
        for index, (before, after) in enumerate(itertools.pairwise(row)):
            if after < before:
                self.fail(f"{key}[{index + 1}]", f"falls from {before} to {after}; times must not fall with tokens")
        return row

    def _number(self, key: str, value: Any, above: float | None) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
            self.fail(key, f"must be a finite number, not {repr(value)[:40]}")
        if value < 0 or (above is not None and value <= above):
            self.fail(key, f"must be {'above' if above is not None else 'at least'} {above or 0}, not {value!r}")
        return float(value)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float holds
        return False

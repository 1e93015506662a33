"""One line of a trace file: a request as JSON text."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from fairway import jsontext
from fairway.errors import InputError

NS_PER_MS = 1_000_000
NS_PER_US = 1_000
LARGEST_INT64 = 2**63 - 1
LARGEST_ARRIVAL_NS = LARGEST_INT64 - 2**57  # four years are left for what happens after the last arrival


class Row(NamedTuple):
    """One request as a trace file states it."""

    arrival_ns: int
    prompt_tokens: int
    output_tokens: int
    block_ids: Sequence[int]
    kind: str
    phase: str


class Unit(NamedTuple):
    """What times are counted in."""

    name: str
    ns: int


MILLISECONDS = Unit("milliseconds", NS_PER_MS)
SECONDS = Unit("seconds", 1_000_000_000)
_BAILIAN_FIELD = "chat_id"  # tells the format where a prompt has one block, so that its length does not


class Place(NamedTuple):
    """Where a row stands, for error messages."""

    file: Path
    line: int

    def refuse(self, problem: str, remedy: str) -> NoReturn:
        """Raise the error that this row is wrong."""
        raise InputError(problem, remedy=remedy, file=self.file, line=self.line)


def parse_row(line: bytes, place: Place, unit: Unit = MILLISECONDS, least_tokens: int = 1) -> Row:
    """Read one line: types and ranges of the fields; how fields relate is not looked at.

    Times are in ``unit``; what is finer than a nanosecond is rounded half-even. Lengths are at least ``least_tokens``.
    Further fields are passed over.

    Raises:
        InputError: the line is not UTF-8, not a JSON object, or a field is missing, there twice, of another type or out
            of range.
    """
    fields = _parse_object(line, place)
    row = Row(
        arrival_ns=_arrival_ns(fields, unit, place),
        prompt_tokens=_count(fields, "input_length", least_tokens, place),
        output_tokens=_count(fields, "output_length", least_tokens, place),
        block_ids=_ids(fields, line, place),
        kind=_label(fields, "kind", place),
        phase=_label(fields, "phase", place),
    )
    if len(row.block_ids) <= 1:
        _refuse_other_unit(fields, unit, place)
    return row


def _refuse_other_unit(fields: dict[str, Any], unit: Unit, place: Place) -> None:
    if unit is MILLISECONDS and _BAILIAN_FIELD in fields:
        place.refuse(
            f"{_BAILIAN_FIELD!r} stands in Bailian's traces, whose times are seconds",
            f"import it with --format bailian, or take {_BAILIAN_FIELD!r} out if its times are milliseconds",
        )
    if unit is SECONDS and _BAILIAN_FIELD not in fields:
        place.refuse(
            f"there is no {_BAILIAN_FIELD!r}, which Bailian's traces have; Mooncake's have not, and count milliseconds",
            f"import it with --format mooncake, or put {_BAILIAN_FIELD!r} in if its times are seconds",
        )


def format_row(row: Row) -> str:
    """Write a request as one line without its line end; the arrival must be whole microseconds."""
    fields: dict[str, Any] = {
        "input_length": row.prompt_tokens,
        "output_length": row.output_tokens,
        "hash_ids": list(row.block_ids),
    }
    labels = {"kind": row.kind, "phase": row.phase}
    fields.update((name, label) for name, label in labels.items() if label)
    # The time is put in as text: a float could lose its last microsecond.
    return f'{{"timestamp": {_milliseconds(row.arrival_ns)}, {json.dumps(fields)[1:]}'


def _milliseconds(arrival_ns: int) -> str:
    whole, us = divmod(arrival_ns // NS_PER_US, 1000)
    return f"{whole}.{us:03d}".rstrip("0") if us else str(whole)


def _parse_object(line: bytes, place: Place) -> dict[str, Any]:
    if not line.strip():
        place.refuse("the line is blank", "delete it, or fetch the file again if it is damaged")
    try:
        value = jsontext.parse_exactly(decoded(line, place))
    except ValueError as error:
        place.refuse(f"the line is not JSON ({error})", "mend it; if it is cut off, fetch or build the file again")
    if not isinstance(value, dict):
        place.refuse(
            "the line is not a JSON object", 'each line must read {"timestamp": ..., "input_length": ..., ...}'
        )
    return value


def decoded(line: bytes, place: Place) -> str:
    """Return a line's text; the first one may begin with a byte order mark. `InputError` if it is not UTF-8."""
    try:
        return line.decode("utf-8-sig" if place.line == 1 else "utf-8")
    except UnicodeDecodeError:
        place.refuse("the line is not UTF-8 text", "fetch the file again, or convert it to UTF-8")


def _field(fields: dict[str, Any], name: str, place: Place) -> Any:
    if name not in fields:
        place.refuse(f"field {name!r} is missing", "add it, or check that this is a trace in Mooncake's format")
    return fields[name]


def _arrival_ns(fields: dict[str, Any], unit: Unit, place: Place) -> int:
    value = _field(fields, "timestamp", place)
    advice = f"give {unit.name} since the trace began"
    if not _is_integer(value) and not isinstance(value, Decimal):
        place.refuse(f"'timestamp' is {_shown(value)}, not a number", advice)
    if value < 0:
        place.refuse(f"'timestamp' is negative ({_shown(value)})", "count times from the trace's beginning")
    if value > LARGEST_ARRIVAL_NS // unit.ns:
        place.refuse(f"'timestamp' is too large ({_shown(value)})", advice)
    return value * unit.ns if isinstance(value, int) else int((value * unit.ns).to_integral_value())


def _count(fields: dict[str, Any], name: str, least: int, place: Place) -> int:
    value = _field(fields, name, place)
    if not _is_integer(value):
        place.refuse(f"{name!r} is {_shown(value)}, not an integer", "give a whole number of tokens")
    if value < least:
        place.refuse(f"{name!r} is {_shown(value)}", f"give at least {least} tokens, or leave the request out")
    if value > LARGEST_INT64:
        place.refuse(f"{name!r} is too large ({_shown(value)})", f"give at most {LARGEST_INT64} tokens")
    return int(value)


def _ids(fields: dict[str, Any], line: bytes, place: Place) -> array[int]:
    value = _field(fields, "hash_ids", place)
    if not isinstance(value, list):
        place.refuse(f"'hash_ids' is {_shown(value)}, not a list", "give one integer for each block of the prompt")
    ids = array("q")
    outside = "'hash_ids' holds a number outside 0 .. 2^63 - 1", "number the blocks from 0"
    other = "'hash_ids' holds something that is not an integer", "give one integer for each block"
    try:
        ids.fromlist(value)
    except OverflowError:
        place.refuse(*outside)
    except TypeError:
        place.refuse(*other)
    # An array takes true, false and negative numbers as well. Few lines can hold any, and only those are gone through.
    if (b"true" in line or b"false" in line) and bool in map(type, value):
        place.refuse(*other)
    if b"-" in line and min(ids, default=0) < 0:
        place.refuse(*outside)
    return ids


def _label(fields: dict[str, Any], name: str, place: Place) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        place.refuse(f"{name!r} is {_shown(value)}, not text", f"write {name!r} as a string or leave it out")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can spell and no file can hold
        place.refuse(f"{name!r} is {_shown(value)}, not text", f"write {name!r} in whole characters or leave it out")
    return value


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: object) -> str:
    """Show a field's value as JSON would, cut to a length that fits an error message."""
    text = str(value) if isinstance(value, Decimal) else json.dumps(value, default=str)
    return text if len(text) <= 40 else f"{text[:37]}..."

"""JSON as it should be written: no key twice, no NaN, no infinity; the standard library takes all three silently."""

from __future__ import annotations

import decimal
import json
from decimal import Decimal
from typing import Any, NoReturn


def parse(text: str) -> Any:
    """Parse JSON.

    Raises:
        ValueError: it is no JSON, a key stands twice in one object, a number is none, or brackets nest too deeply.
    """
    return _parse(text, _PLAIN)


def parse_exactly(text: str) -> Any:
    """Parse JSON with numbers as they are written: those with a fraction or an exponent are decimals.

    Raises:
        ValueError: as `parse`; or an exponent is larger than a decimal can have.
    """
    try:
        return _parse(text, _EXACT)
    except decimal.InvalidOperation as error:
        raise ValueError("a number's exponent is too large") from error


def _parse(text: str, decoder: json.JSONDecoder) -> Any:
    try:
        return decoder.decode(text)
    except RecursionError as error:
        raise ValueError("brackets nest too deeply") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"key {next(name for name in names if names.count(name) > 1)!r} stands twice")
    return values


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


# Made once: `json.loads` with options makes a decoder for every call.
_PLAIN = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant)
_EXACT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=Decimal)

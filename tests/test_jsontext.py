"""JSON that the standard library would take and nobody means."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway import jsontext

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_what_json_writes_is_read_back(value):
    assert jsontext.parse(json.dumps(value)) == value


@pytest.mark.parametrize("parse", [jsontext.parse, jsontext.parse_exactly])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1, "b": 2, "a": 1}', "key 'a' stands twice"),
        ('[{"x": {"b": 2, "b": 3}}]', "key 'b' stands twice"),
        ("[NaN]", "NaN is not a number"),
        ('{"a": -Infinity}', "-Infinity is not a number"),
        ("[" * 100_000, "brackets nest too deeply"),
        ('{"a": 1', "Expecting"),
        ("9" * 5000, "digits"),
    ],
)
def test_what_nobody_means_is_refused(parse, text, problem):
    with pytest.raises(ValueError, match=problem):
        parse(text)


def test_numbers_as_they_are_written():
    assert jsontext.parse_exactly("[0.1, 2, 1e3]") == [Decimal("0.1"), 2, Decimal("1e3")]
    with pytest.raises(ValueError, match="exponent"):
        jsontext.parse_exactly("1e99999999999999999999")

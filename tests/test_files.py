"""Atomic writes and seals."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.files import atomic_path, is_sealed, sealed, without_seal, write_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.dictionaries(st.text(), values, max_size=4))
def test_a_sealed_document_is_whole_after_a_round_trip(document):
    again = json.loads(json.dumps(sealed(document), indent=3))
    assert is_sealed(again)
    assert without_seal(again) == without_seal(document)


def test_a_write_that_fails_names_the_file(tmp_path):
    with pytest.raises(OSError, match="No space") as error, atomic_path(tmp_path / "a.json"):
        raise OSError(28, "No space left on device")
    assert error.value.filename == str(tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_a_changed_or_unsealed_document_is_told():
    document = sealed({"load": 1.2, "name": "a"})
    assert not is_sealed({**document, "load": 1.3})
    assert not is_sealed({**document, "more": 1})
    assert not is_sealed({"load": 1.2})


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "t.json"
    write_json(target, {"a": 1})
    with pytest.raises(RuntimeError), atomic_path(target) as part:
        part.write_text("half", encoding="utf-8")
        raise RuntimeError
    assert json.loads(target.read_text(encoding="utf-8")) == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]


def test_no_nan_reaches_a_file(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "t.json", {"a": float("nan")})
    assert not list(tmp_path.iterdir())

"""Profile files: what is refused, and that nothing slips through."""

import copy
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.errors import InputError
from fairway.files import sealed, write_sealed
from fairway.profile import load_profile, profile_names, read_document
from fairway.profile.preview import prefill_preview
from fairway.profile.reader import profile_from

GOOD = {
    "format": 1,
    "name": "n",
    "device": "d",
    "model": "m",
    "evidence": "measured",
    "measurement": {"device": "d"},
    "source": "s",
    "efficiency": 1.0,
    "linear": {
        "fit": {"floor_ms": 1.0, "constant_ms": 1.0, "per_token_ms": 1.0},
        "table": {"tokens": [1, 2], "ms": [1.0, 2.0]},
    },
    "attention": {
        "fit": {"floor_ms": 1.0, "constant_ms": 1.0, "per_context_token_ms": 1.0},
        "table": {"new_tokens": [1, 2], "prefix_tokens": [0], "ms": [[1.0], [2.0]]},
    },
}


def changed(path, value):
    document = copy.deepcopy(GOOD)
    *parents, last = path.split(".")
    table = document
    for key in parents:
        table = table[key]
    if value is None:
        del table[last]
    else:
        table[last] = value
    return document


def test_the_good_document_is_good():
    assert profile_from(GOOD, "f").evidence == "measured"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("format", 2, "format must be 1"),
        ("name", None, "name is missing"),
        ("name", "", "name must be a text"),
        ("name", "../n", "name is '../n'; it must begin with"),
        ("name", "n\n", r"name is 'n\\n'; it must begin with"),
        ("name", "a|b", "name is 'a|b'; it must begin with"),
        ("device", "one\nother", "device must be a text of one line"),
        ("evidence", "guessed", "evidence must be one of"),
        ("measurement", None, "evidence is 'measured', but no 'measurement' says how"),
        ("measurement", {}, "evidence is 'measured', but no 'measurement' says how"),
        ("efficiency", 0, "efficiency must be above"),
        ("linear", 3, "linear must be a table"),
        ("linear.fit.per_token_ms", float("nan"), "linear.fit.per_token_ms must be a finite number"),
        ("linear.fit.per_token_ms", -1.0, "must be at least"),
        ("linear.fit.floor_ms", 0.0, "must be above"),
        ("linear.fit.constant_ms", True, "must be a finite number"),
        ("linear.table.ms", [1.0, float("nan")], r"linear.table.ms\[1\] must be a finite number"),
        ("linear.table.ms", [2.0, 1.0], r"linear.table.ms\[1\] falls from 2.0 to 1.0"),
        ("linear.table.ms", [1.0], "must be a list of 2 numbers"),
        ("linear.table.tokens", [2, 1], "must rise"),
        ("linear.table.tokens", [1.5, 2], "whole numbers"),
        ("attention.table.ms", [[1.0]], "one row for each of the 2"),
        ("attention.table.ms", [[2.0], [1.0]], "falls below the row before"),
        ("attention.table.ms", [[1.0], [float("nan")]], r"ms\[1\]\[0\] must be a finite number, not nan"),
        ("attention.table.ms", [[1.0], [2.0, 3.0]], r"ms\[1\] must be a list of 1 numbers"),
        ("linear.table.ms", [1.0, 10**400], "must be a finite number, not 1000"),
        ("linear.table.ms", [-1.0, 2.0], "must be above 0"),
        ("linear.table.ms", [1.0, "2.0"], "must be a finite number, not '2.0'"),
        ("linear.table.tokens", [1, True], "whole numbers"),
        ("linear.table.tokens", [1, 10**30], r"below 2\^31"),
        ("linear.table", {"tokens": [], "ms": []}, "must be a list of whole numbers"),
        ("format", True, "format must be 1"),
        ("tabel", {}, "tabel is not known; known: format, name"),
        ("linear.tabel", {"tokens": [1], "ms": [1.0]}, "linear.tabel is not known; known: fit, table"),
        ("attention.fit.constant", 1.0, "attention.fit.constant is not known"),
        ("linear.fit.per_token_ms", 1e308, "131,072 tokens take inf ms"),
        ("linear.fit.per_token_ms", 1e5, r"131,072 tokens take 1\.31e\+10 ms"),
        (
            "attention.fit.long",
            {"above_product": 1.7, "per_new_token_ms": 0, "per_context_token_ms": 0, "per_product_ms": 0},
            "attention.fit.long.above_product must be a whole number, not 1.7",
        ),
        ("efficiency", 1e-320, "131,072 tokens take inf ms"),
    ],
)
def test_a_wrong_value_is_named(path, value, message):
    with pytest.raises(InputError, match=message) as error:
        profile_from(changed(path, value), "some.toml")
    assert error.value.file == "some.toml"


def test_an_unknown_profile_lists_the_shipped_ones():
    with pytest.raises(InputError, match=r"unknown profile 'a100'.*a6000-llama-3\.1-8b-modelled"):
        load_profile("a100")


@pytest.mark.parametrize("name", ["p.toml", "p.json"])
def test_a_missing_file_is_named(name, tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load_profile(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("p.json", '{"format": 1, "format": 1}', "key 'format' stands twice"),
        ("p.json", "[" * 100_000, "nest too deeply"),
        ("p.toml", "format = 1\nformat = 1\n", "line 2"),
        ("p.toml", "a = " + "[" * 100_000, "recursion"),
        ("p.toml", "format = 1", "evidence is missing"),
        ("p.json", "[1]", "holds no table of keys"),
    ],
)
def test_a_broken_file_is_named(name, text, problem, tmp_path):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=problem) as error:
        load_profile(tmp_path / name)
    assert Path(error.value.file) == tmp_path / name


def test_a_byte_order_mark_changes_nothing(tmp_path):
    (tmp_path / "p.json").write_text("\ufeff" + json.dumps(sealed(GOOD)), encoding="utf-8")
    assert load_profile(tmp_path / "p.json") == profile_from(GOOD, "f")


def test_a_profile_that_was_edited_under_its_seal_is_refused(tmp_path):
    write_sealed(tmp_path / "p.json", GOOD)
    assert load_profile(tmp_path / "p.json") == profile_from(GOOD, "f")
    text = (tmp_path / "p.json").read_text(encoding="utf-8")
    (tmp_path / "p.json").write_text(text.replace('"efficiency": 1.0', '"efficiency": 0.8'), encoding="utf-8")
    with pytest.raises(InputError, match=r"p\.json: was edited after it was written"):
        load_profile(tmp_path / "p.json")


@pytest.mark.parametrize("key", ["measurement", "prefill_preview"])
def test_a_profile_that_a_script_made_has_its_seal(key, tmp_path):
    by_hand = {name: value for name, value in GOOD.items() if name != "measurement"} | {"evidence": "modelled"}
    (tmp_path / "p.json").write_text(json.dumps(by_hand), encoding="utf-8")
    assert load_profile(tmp_path / "p.json").evidence == "modelled"
    (tmp_path / "p.json").write_text(json.dumps({**by_hand, key: [{"n_tokens": 1}]}), encoding="utf-8")
    with pytest.raises(InputError, match=r"p\.json: was edited after it was written"):
        load_profile(tmp_path / "p.json")


@given(st.binary(max_size=200), st.sampled_from(["p.toml", "p.json"]))
def test_any_bytes_give_a_profile_or_one_error(tmp_path_factory, content, name):
    path = tmp_path_factory.mktemp("profile") / name
    path.write_bytes(content)
    with pytest.raises(InputError):
        load_profile(path)


@pytest.mark.parametrize("name", profile_names())
def test_a_profile_survives_json(name, tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps(read_document(name)), encoding="utf-8")
    assert load_profile(path) == load_profile(name)


def test_the_preview_is_of_this_profile():
    profile = load_profile("a6000-llama-3.1-8b-modelled")
    assert prefill_preview(profile, 2048)[0]["prefill_s"] == profile.prefill_ns(300, 0, 2048) / 1e9

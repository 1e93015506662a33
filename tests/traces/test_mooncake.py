import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.errors import InputError
from fairway.files import sealed, write_json
from fairway.traces import read_trace, write_trace
from fairway.traces.description import describe_trace

GOOD = '{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}'
LFS_POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{0:064d}\nsize 132054902\n"


def write(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def row(**changes: Any) -> str:
    fields = json.loads(GOOD) | changes
    return json.dumps({name: value for name, value in fields.items() if value != "absent"})


def test_a_public_trace_is_read_as_milliseconds_and_512_tokens(tmp_path: Path) -> None:
    trace = read_trace(
        write(tmp_path, GOOD, row(timestamp=3000, hash_ids=[0, 2]), row(timestamp=6000, hash_ids=[0, 3]))
    )
    assert trace.arrival_ns.tolist() == [0, 3_000_000_000, 6_000_000_000]
    assert trace.block_ids.tolist() == [0, 1, 0, 2, 0, 3]
    assert trace.block_offsets.tolist() == [0, 2, 4, 6]
    assert trace.block_tokens == 512
    assert str(describe_trace(trace)) == "3 requests over 6.000 s, 0.333 requests/s (times in ms)"


def test_a_public_trace_begins_with_its_first_request(tmp_path: Path) -> None:
    trace = read_trace(write(tmp_path, row(timestamp=500), row(timestamp=500.25)))
    assert trace.arrival_ns.tolist() == [0, 250_000]


def test_requests_at_one_instant_have_no_rate(tmp_path: Path) -> None:
    assert "all at once" in str(describe_trace(read_trace(write(tmp_path, GOOD, GOOD))))


def test_ties_keep_the_file_s_order_and_odd_ticks_survive(tmp_path: Path) -> None:
    times = [0, 3000, 3000, 3000, 5999, 9000]
    lines = [row(timestamp=time, hash_ids=[place, 99]) for place, time in enumerate(times)]
    trace = read_trace(write(tmp_path, *lines))
    assert (trace.arrival_ns // 1_000_000).tolist() == times
    assert trace.block_ids[::2].tolist() == list(range(6))


def test_words_and_signs_in_other_fields_are_not_ids(tmp_path: Path) -> None:
    trace = read_trace(write(tmp_path, row(kind="warm-up", phase="true", turn=-1, cached=False)))
    assert (trace.block_ids.tolist(), trace.kind, trace.phase) == ([0, 1], ("warm-up",), ("true",))


def test_a_trace_in_seconds_and_16_token_blocks_is_refused(tmp_path: Path) -> None:
    bailian = row(timestamp=0.0, input_length=20, chat_id=1, parent_chat_id=-1, type="text", turn=1)
    with pytest.raises(InputError, match=r"trace\.jsonl:1: 20 tokens make 1 blocks of 512, but 'hash_ids' has 2"):
        read_trace(write(tmp_path, bailian))


def test_another_block_size_can_be_given(tmp_path: Path) -> None:
    assert read_trace(write(tmp_path, row(input_length=20)), block_tokens=16).block_tokens == 16


@pytest.mark.parametrize("block_tokens", [0, -512])
def test_a_block_has_tokens(tmp_path: Path, block_tokens: int) -> None:
    with pytest.raises(InputError, match="below 1"):
        read_trace(write(tmp_path, GOOD), block_tokens=block_tokens)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (GOOD[:40], "not JSON"),
        ("", "blank"),
        ("[1, 2]", "not a JSON object"),
        ("[" * 100_000, "not JSON"),
        (row(timestamp="absent"), "'timestamp' is missing"),
        (row(timestamp=None), "'timestamp' is null, not a number"),
        (row(timestamp="3"), "not a number"),
        (row(timestamp=True), "not a number"),
        (row(timestamp=-5), "negative"),
        (row(timestamp=float("nan")), "NaN is not a number"),
        (row(timestamp=float("inf")), "Infinity is not a number"),
        (GOOD.replace("0,", "1e400,", 1), "too large"),
        (GOOD.replace("0,", "1e99999999999999999999,", 1), "not JSON"),
        (GOOD.replace("0,", f"{'9' * 5000},", 1), "not JSON"),
        (row(timestamp=2**63), "too large"),
        (row(input_length="absent"), "'input_length' is missing"),
        (row(input_length=0, hash_ids=[]), "'input_length' is 0"),
        (row(input_length=600.0), "not an integer"),
        (row(input_length=True, hash_ids=[1]), "not an integer"),
        (row(output_length="absent"), "'output_length' is missing"),
        (row(output_length=0), "'output_length' is 0"),
        (row(hash_ids="absent"), "'hash_ids' is missing"),
        (row(hash_ids={"0": 1}), "not a list"),
        (row(hash_ids=[0, 1.0]), "not an integer"),
        (row(hash_ids=[0, True]), "not an integer"),
        (row(hash_ids=[0, -1]), "outside"),
        (row(hash_ids=[0, False]), "not an integer"),
        (row(hash_ids=[0, 2**63]), "outside"),
        (row(hash_ids=[0]), "make 2 blocks of 512, but 'hash_ids' has 1"),
        (row(hash_ids=[0, 1, 2]), "but 'hash_ids' has 3"),
        (row(kind=3), "'kind' is 3, not text"),
        (row(phase=["spike"]), "not text"),
    ],
)
def test_a_wrong_row_is_refused_with_its_line(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        read_trace(write(tmp_path, GOOD, GOOD, line))
    assert caught.value.line == 3
    assert caught.value.remedy


def test_a_row_earlier_than_the_one_before_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r":2: 'timestamp' is earlier") as caught:
        read_trace(write(tmp_path, row(timestamp=500), row(timestamp=100)))
    assert "sort" in caught.value.remedy


def test_what_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(GOOD.encode("utf-8") + b"\n\xff\xfe\n")
    with pytest.raises(InputError, match=r":2: the line is not UTF-8"):
        read_trace(path)


def test_a_git_lfs_pointer_is_named_with_its_size(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(LFS_POINTER, encoding="utf-8")
    with pytest.raises(InputError, match="Git LFS pointer to a file of 132,054,902 bytes") as caught:
        read_trace(path)
    assert "git lfs pull" in caught.value.remedy


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir()])
def test_what_cannot_be_opened_is_refused(tmp_path: Path, make: Any) -> None:
    make(tmp_path / "trace.jsonl")
    with pytest.raises(InputError, match="cannot be read"):
        read_trace(tmp_path / "trace.jsonl")


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="empty"):
        read_trace(write(tmp_path))


@given(content=st.one_of(st.binary(max_size=300), st.text(max_size=300).map(lambda text: text.encode("utf-8"))))
def test_any_bytes_are_a_trace_or_bad_input(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "trace.jsonl"
    path.write_bytes(content)
    assert_trace_or_bad_input(path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(changes=st.dictionaries(st.sampled_from([*json.loads(GOOD), "kind", "phase"]), json_values))
def test_any_field_values_are_a_trace_or_bad_input(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "trace.jsonl"
    path.write_text(row(**changes), encoding="utf-8")
    assert_trace_or_bad_input(path)


def assert_trace_or_bad_input(path: Path) -> None:
    try:
        trace = read_trace(path)
    except InputError:
        return
    assert len(trace) >= 1
    assert (trace.arrival_ns >= 0).all()


def test_times_have_at_most_three_decimals(tmp_path: Path, make_trace: Any) -> None:
    path = tmp_path / "trace.jsonl"
    arrival_ns = np.array([0, 1_500_000, 2_000_000, 9_007_199_254_740_993_000], dtype=np.int64)
    write_trace(make_trace([(1, [0])] * 4, 16, arrival_ns=arrival_ns), path)
    times = [line.split(",")[0].split()[1] for line in path.read_text(encoding="utf-8").splitlines()]
    assert times == ["0", "1.5", "2", "9007199254740.993"]
    assert read_trace(path).arrival_ns.tolist() == arrival_ns.tolist()


def test_what_is_finer_than_the_format_is_not_written(tmp_path: Path, make_trace: Any) -> None:
    path = tmp_path / "trace.jsonl"
    with pytest.raises(InputError, match="finer than a microsecond"):
        write_trace(make_trace([(1, [0])], 16, arrival_ns=np.array([1_500])), path)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def written(tmp_path: Path, make_trace: Any) -> Path:
    path = tmp_path / "trace.jsonl"
    write_trace(make_trace([(40, [0, 1, 2]), (16, [0])], 16), path)
    return path


def edit_header(path: Path, **changes: Any) -> None:
    file = path.parent / "trace.header.json"
    header = json.loads(file.read_text(encoding="utf-8")) | changes
    write_json(file, sealed({name: value for name, value in header.items() if value != "absent"}))


def test_a_changed_file_is_told_from_its_header(written: Path) -> None:
    written.write_text(written.read_text(encoding="utf-8").replace("[0, 1, 2]", "[0, 1, 3]"), encoding="utf-8")
    with pytest.raises(InputError, match="SHA-256 differs"):
        read_trace(written)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"requests": 3}, "has 2 requests, but its header says 3"),
        ({"requests": "2"}, "'requests' is missing or not of type int"),
        ({"block_tokens": "absent"}, "'block_tokens' is missing"),
        ({"block_tokens": True}, "not of type int"),
        ({"block_tokens": 0}, "below 1"),
        ({"block_tokens": 512}, ":1: 40 tokens make 1 blocks"),
        ({"time_unit": "s"}, "time unit 's' is unknown"),
        ({"format_version": 2}, "version 2 is unknown"),
        ({"full_blocks_only": True}, ":1: 40 tokens make 2 blocks"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(written: Path, changes: dict[str, Any], problem: str) -> None:
    edit_header(written, **changes)
    with pytest.raises(InputError, match=problem):
        read_trace(written)


@pytest.mark.parametrize(
    ("text", "problem"),
    [("{\n  broken", r"header\.json:2: "), ("[]", "not a JSON object"), ("[" * 100_000, "not JSON")],
)
def test_a_broken_header_is_refused(written: Path, text: str, problem: str) -> None:
    (written.parent / "trace.header.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        read_trace(written)


def test_a_block_size_other_than_the_header_s_is_refused(written: Path) -> None:
    assert read_trace(written, block_tokens=16).block_tokens == 16
    with pytest.raises(InputError, match="header says 16"):
        read_trace(written, block_tokens=512)


def test_where_only_full_blocks_are_listed_tails_are_nobody_else_s(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        row(input_length=40, hash_ids=[7, 9]),
        row(input_length=10, hash_ids=[]),
        row(input_length=32, hash_ids=[7, 9]),
        row(input_length=40, hash_ids=[7, 9]),
    )
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    header = {
        "format_version": 1,
        "time_unit": "ms",
        "block_tokens": 16,
        "full_blocks_only": True,
        "requests": 4,
        "sha256": checksum,
    }
    (tmp_path / "trace.header.json").write_text(json.dumps(header), encoding="utf-8")
    trace = read_trace(path)
    assert trace.block_ids.tolist() == [7, 9, 10, 11, 7, 9, 7, 9, 12]
    assert trace.block_offsets.tolist() == [0, 3, 4, 6, 9]
    write_trace(trace, path)
    assert read_trace(path).block_ids.tolist() == trace.block_ids.tolist()

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.errors import InputError
from fairway.files import sealed, sha256, write_json
from fairway.traces import Trace, parquet, parquet_columns, read_trace, write_trace

ROWS: dict[str, list[Any]] = {
    "arrival_ns": [5, 5, 3_000_000_005],
    "input_length": [40, 16, 20],
    "output_length": [1, 2, 3],
    "hash_ids": [[0, 1, 2], [0], [0, 3]],
}


def write_rows(path: Path, rows: dict[str, Any], **columns: Any) -> Path:
    pq.write_table(pa.table(rows | columns), path)
    return path


def test_a_table_of_other_tools_is_read_from_its_first_request_on(tmp_path: Path) -> None:
    columns = {
        "input_length": pa.array(ROWS["input_length"], pa.uint16()),
        "hash_ids": pa.array(ROWS["hash_ids"], pa.large_list(pa.uint64())),
        "kind": pa.array(["hit", "miss", "hit"]).dictionary_encode(),
        "phase": pa.array(["", "spike", "spike"], pa.large_string()),
        "chat_id": [7, 8, 9],
    }
    trace = read_trace(write_rows(tmp_path / "t.parquet", ROWS, **columns), block_tokens=16)
    assert trace.arrival_ns.tolist() == [0, 0, 3_000_000_000]
    assert (trace.prompt_tokens.tolist(), trace.output_tokens.tolist()) == ([40, 16, 20], [1, 2, 3])
    assert (trace.block_ids.tolist(), trace.block_offsets.tolist()) == ([0, 1, 2, 0, 0, 3], [0, 3, 4, 6])
    assert trace.block_ids.dtype == np.int32
    assert (trace.kind, trace.phase) == (("hit", "miss", "hit"), ("", "spike", "spike"))


def test_a_table_without_labels_has_none(tmp_path: Path) -> None:
    trace = read_trace(write_rows(tmp_path / "t.parquet", ROWS), block_tokens=16)
    assert (trace.kind, trace.phase) == (("",) * 3, ("",) * 3)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"hash_ids": [[0, 1, 2], [0, 1], [0, 3]]}, "row 2: 16 tokens make 1 blocks of 16, but 'hash_ids' has 2"),
        ({"input_length": [40, 16, 33]}, "row 3: 33 tokens make 3 blocks of 16, but 'hash_ids' has 2"),
        ({"input_length": [40, 16, 2**63 - 1]}, "row 3: 9223372036854775807 tokens make 576460752303423488 blocks"),
        ({"hash_ids": [[0, 1, 2], [], [0, 3]]}, "row 2: .* but 'hash_ids' has 0"),
        ({"hash_ids": [[0, 1, 2], [-1], [0, 3]]}, "row 2: 'hash_ids' holds a number outside"),
        ({"hash_ids": [[0, 1, 2], [0], [None, 3]]}, "row 3: 'hash_ids' holds a number outside"),
        ({"hash_ids": pa.array([[0, 1, 2], [0], [0, 2**63]], pa.list_(pa.uint64()))}, "row 3: 'hash_ids' holds"),
        ({"hash_ids": [[0, 1, 2], None, [0, 3]]}, "row 2: 'hash_ids' is missing"),
        ({"hash_ids": [[0.0, 1.0, 2.0], [0.0], [0.0, 3.0]]}, "column 'hash_ids' holds list<.*double>"),
        ({"hash_ids": ["0, 1, 2", "0", "0, 3"]}, "column 'hash_ids' holds string"),
        ({"arrival_ns": [5, 4, 6]}, "row 2: 'arrival_ns' is earlier than in the row before"),
        ({"arrival_ns": [-5, 4, 6]}, r"row 1: 'arrival_ns' is outside 0 \.\. 9"),
        ({"arrival_ns": [5, 6, 2**63 - 1]}, "row 3: 'arrival_ns' is outside"),
        ({"arrival_ns": pa.array([0, 1, 2**63], pa.uint64())}, "row 3: 'arrival_ns' is outside"),
        ({"arrival_ns": [0.0, 0.5, 1.0]}, "column 'arrival_ns' holds double"),
        ({"input_length": [40, 0, 20]}, "row 2: 'input_length' is outside 1"),
        ({"output_length": [1, 2, 0]}, "row 3: 'output_length' is outside 1"),
        ({"output_length": [1, None, 3]}, "row 2: 'output_length' is missing"),
        ({"output_length": [True, True, True]}, "column 'output_length' holds bool"),
        ({"kind": ["hit", None, "hit"]}, "row 2: 'kind' is missing"),
        ({"phase": [1, 2, 3]}, "column 'phase' holds int64"),
    ],
)
def test_a_wrong_row_is_refused_by_its_number(tmp_path: Path, columns: dict[str, Any], problem: str) -> None:
    path = write_rows(tmp_path / "t.parquet", ROWS, **columns)
    with pytest.raises(InputError, match=problem) as refused:
        read_trace(path, block_tokens=16)
    assert str(refused.value).startswith(f"{path}: ") and "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ROWS)
def test_a_missing_column_is_named(tmp_path: Path, name: str) -> None:
    path = write_rows(tmp_path / "t.parquet", {other: values for other, values in ROWS.items() if other != name})
    with pytest.raises(InputError, match=f"column '{name}' is missing"):
        read_trace(path)


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(values) for values in [*ROWS.values(), [1, 2, 3]]], [*ROWS, "input_length"])
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(InputError, match="'input_length' is there twice"):
        read_trace(tmp_path / "t.parquet")


def test_text_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    binary = pa.array([b"hit", b"\xff", b"hit"])
    text = pa.Array.from_buffers(pa.string(), 3, binary.buffers())
    with pytest.raises(InputError, match=r"not a trace as Parquet: .*UTF8"):
        read_trace(write_rows(tmp_path / "t.parquet", ROWS, kind=text), block_tokens=16)


def test_an_empty_trace_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table(ROWS).slice(0, 0), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="the trace is empty"):
        read_trace(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not a trace as Parquet: Parquet file size is 0 bytes"),
        (b"PAR1", "not a trace as Parquet"),
        (b"timestamp,input_length", "not a trace as Parquet: .*magic bytes"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 99\n",
            "Git LFS pointer to a file of 99 bytes",
        ),
    ],
)
def test_what_is_no_parquet_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(InputError, match=problem):
        read_trace(tmp_path / "t.parquet")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read \(No such file"):
        read_trace(tmp_path / "t.parquet")


@pytest.fixture
def written(tmp_path: Path, make_trace: Callable[..., Trace]) -> Path:
    write_trace(make_trace([(40, [0, 1, 2]), (16, [0])], 16), tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_a_changed_file_is_told_from_its_header(written: Path) -> None:
    table = pq.read_table(written)
    pq.write_table(table.set_column(2, "output_length", pa.array([1, 2])), written)
    with pytest.raises(InputError, match="SHA-256 differs"):
        read_trace(written)


def test_a_header_that_counts_otherwise_is_refused(written: Path) -> None:
    edit_header(written, requests=3)
    with pytest.raises(InputError, match="has 2 requests, but its header says 3"):
        read_trace(written)


def test_a_header_for_json_lines_does_not_do(written: Path) -> None:
    edit_header(written, time_unit="ms")
    with pytest.raises(InputError, match="time unit 'ms' is unknown"):
        read_trace(written)


def test_where_only_full_blocks_are_listed_tails_are_nobody_else_s(tmp_path: Path) -> None:
    rows = ROWS | {"input_length": [40, 10, 32], "hash_ids": [[7, 9], [], [7, 9]]}
    path = write_rows(tmp_path / "t.parquet", rows)
    facts = {"format_version": 1, "time_unit": "ns", "block_tokens": 16, "requests": 3, "sha256": sha256(path)}
    write_json(tmp_path / "t.parquet.header.json", sealed(facts | {"full_blocks_only": True}))
    trace = read_trace(path)
    assert (trace.block_ids.tolist(), trace.block_offsets.tolist()) == ([7, 9, 10, 11, 7, 9], [0, 3, 4, 6])
    assert trace.arrival_ns.tolist() == ROWS["arrival_ns"]


def edit_header(path: Path, **changes: Any) -> None:
    file = path.with_name(f"{path.name}.header.json")
    header = json.loads(file.read_text(encoding="utf-8"))
    write_json(file, sealed({**header, **changes, "seal": None}))


def test_rows_are_counted_over_the_parts_of_a_file(
    tmp_path: Path, make_trace: Callable[..., Trace], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (parquet, parquet_columns):
        monkeypatch.setattr(module, "PART_REQUESTS", 2)
    trace = make_trace([(16 * (place + 1), [place] * (place + 1)) for place in range(5)], 16, kind=tuple("abcde"))
    write_trace(trace, tmp_path / "t.parquet")
    assert pq.ParquetFile(tmp_path / "t.parquet").num_row_groups == 3
    again = read_trace(tmp_path / "t.parquet")
    assert (again.block_ids.tolist(), again.kind) == (trace.block_ids.tolist(), trace.kind)
    edited = pq.read_table(tmp_path / "t.parquet").to_pydict() | {"hash_ids": [[0], [1] * 2, [2] * 3, [3] * 4, [4] * 4]}
    with pytest.raises(InputError, match="row 5: "):
        read_trace(write_rows(tmp_path / "u.parquet", edited), block_tokens=16)


def test_parts_must_be_of_one_trace(tmp_path: Path, make_trace: Callable[..., Trace]) -> None:
    parts = [make_trace([(16, [0])], 16), make_trace([(16, [0, 1])], 8)]
    with pytest.raises(ValueError, match="differ in block size"):
        parquet.write_parts(parts, tmp_path / "t.parquet", {})
    with pytest.raises(ValueError, match="without parts"):
        parquet.write_parts([], tmp_path / "t.parquet", {})
    assert list(tmp_path.iterdir()) == []


@given(content=st.binary(max_size=300))
def test_any_bytes_are_bad_input(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "t.parquet"
    path.write_bytes(b"PAR1" + content + b"PAR1")
    with pytest.raises(InputError):
        read_trace(path)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    rows = ROWS | {"kind": ["hit", "miss", "hit"]}
    return write_rows(tmp_path_factory.mktemp("sound") / "t.parquet", rows).read_bytes()


@given(data=st.data())
def test_damaged_bytes_are_a_trace_or_bad_input(
    tmp_path_factory: pytest.TempPathFactory, sound: bytes, data: st.DataObject
) -> None:
    content = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("fuzz") / "t.parquet"
    path.write_bytes(bytes(content[: data.draw(st.integers(0, 2 * len(content)))]))
    assert_trace_or_bad_input(path)


columns_of_any_kind = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), min_size=2, max_size=2),
    st.lists(st.floats(), min_size=2, max_size=2),
    st.lists(st.text(max_size=3) | st.none(), min_size=2, max_size=2),
    st.lists(st.lists(st.integers(-3, 2**63 - 1) | st.none(), max_size=3) | st.none(), min_size=2, max_size=2),
)


@given(columns=st.dictionaries(st.sampled_from([*ROWS, "kind", "phase"]), columns_of_any_kind))
def test_any_columns_are_a_trace_or_bad_input(
    tmp_path_factory: pytest.TempPathFactory, columns: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "t.parquet"
    write_rows(path, {name: values[:2] for name, values in ROWS.items()}, **columns)
    assert_trace_or_bad_input(path)


def assert_trace_or_bad_input(path: Path) -> None:
    try:
        trace = read_trace(path, block_tokens=16)
    except InputError:
        return
    assert len(trace) >= 1
    assert (trace.arrival_ns >= 0).all()
    assert len(trace.block_ids) == trace.block_offsets[-1]

"""Files that are not what their name says, and rows that a lenient reader would take for others."""

import bz2
import gzip
import json
import lzma
from pathlib import Path

import pytest

from fairway.errors import InputError
from fairway.traces import read_trace
from fairway.traces.imported import import_trace
from fairway.traces.public_formats import FORMATS
from fairway.traces.row import LARGEST_ARRIVAL_NS
from fairway.traces.screening import ScreeningRule

ROW = '{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}'
ROWS = f"{ROW}\n{ROW}\n".encode()
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 132054902\n"
AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:00.5,100,5\n"
READERS = {"own": read_trace} | {
    name: lambda path, name=name: import_trace(path, name, ScreeningRule()).trace for name in FORMATS
}
OTHER_FILES = {
    "pointer": (LFS_POINTER, "Git LFS pointer to a file of 132,054,902 bytes"),
    "pointer with CRLF": (LFS_POINTER.replace(b"\n", b"\r\n"), "Git LFS pointer to a file of 132,054,902 bytes"),
    "pointer with a byte order mark": (b"\xef\xbb\xbf" + LFS_POINTER, "Git LFS pointer to a file of 132,054,902 bytes"),
    "pointer after a blank line": (b"\n" + LFS_POINTER, "Git LFS pointer to a file of 132,054,902 bytes"),
    "pointer that is cut off": (LFS_POINTER[:60], "Git LFS pointer to a file of unknown size"),
    "gzip": (gzip.compress(ROWS), "a gzip file"),
    "gzip that is cut off": (gzip.compress(ROWS)[:20], "a gzip file"),
    "bzip2": (bz2.compress(ROWS), "a bzip2 file"),
    "xz": (lzma.compress(ROWS), "an xz file"),
    "zip": (b"PK\x03\x04rest", "a zip archive"),
    "UTF-16": (ROWS.decode().encode("utf-16"), "a text in UTF-16"),
    "web page": (b"\n<!DOCTYPE html>\n<html></html>\n", "a web page"),
    "page of an object store": (b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', "an XML page"),
    "Parquet": (b"PAR1\x15\x04", "a Parquet file"),
    "git-annex": (b"/annex/objects/SHA256E-s132054902--0123.csv\n", "a git-annex pointer"),
    "pointer of before version 1": (
        LFS_POINTER.replace(b"git-lfs", b"hawser"),
        "Git LFS pointer to a file of 132,054,902 bytes",
    ),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trace.jsonl"


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", OTHER_FILES)
def test_another_kind_of_file_is_named(path: Path, reader: str, kind: str) -> None:
    content, problem = OTHER_FILES[kind]
    path.write_bytes(content)
    with pytest.raises(InputError, match=problem) as caught:
        READERS[reader](path)
    assert caught.value.line is None
    assert caught.value.remedy


@pytest.mark.parametrize("reader", ["own", "mooncake"])
def test_line_ends_and_a_byte_order_mark_change_nothing(path: Path, reader: str) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + ROWS.replace(b"\n", b"\r\n").rstrip())
    assert READERS[reader](path).block_ids.tolist() == [0, 1, 0, 1]


def test_a_byte_order_mark_in_the_middle_is_damage(path: Path) -> None:
    path.write_bytes(ROWS + b"\xef\xbb\xbf" + ROWS)
    with pytest.raises(InputError, match=r":3: the line is not JSON"):
        read_trace(path)


@pytest.mark.parametrize("reader", ["own", "mooncake", "bailian"])
@pytest.mark.parametrize("field", ["timestamp", "input_length", "hash_ids", "invented"])
def test_a_field_that_stands_twice_is_refused(path: Path, reader: str, field: str) -> None:
    value = json.dumps(json.loads(ROW).get(field, 0))
    good = ROW.replace("600", "16").replace("[0, 1]", "[0]")
    if reader == "bailian":
        good = good.replace("{", '{"chat_id": 1, ')
    path.write_text(f'{good}\n{{"{field}": {value}, "{field}": {value}, {good[1:]}\n', encoding="utf-8")
    with pytest.raises(InputError, match=f":2: the line is not JSON .key '{field}' stands twice"):
        READERS[reader](path)


def test_times_end_where_what_follows_would_not_fit(path: Path) -> None:
    last_ms = LARGEST_ARRIVAL_NS // 1_000_000
    path.write_text(f"{ROW}\n{ROW.replace('0', str(last_ms), 1)}\n", encoding="utf-8")
    assert int(read_trace(path).arrival_ns[1]) == last_ms * 1_000_000
    path.write_text(f"{ROW}\n{ROW.replace('0', str(last_ms + 1), 1)}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r":2: 'timestamp' is too large"):
        read_trace(path)


def test_dates_that_lie_centuries_apart_are_no_trace(path: Path) -> None:
    path.write_text(AZURE.replace("2023", "1023") + AZURE.splitlines()[1] + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r":3: the time is centuries after the first one"):
        READERS["azure"](path)


def test_a_row_of_bailian_s_is_told_even_where_its_length_is_not_and_so_is_another(path: Path) -> None:
    row = {"chat_id": 1, "timestamp": 0.5, "input_length": 10, "output_length": 5, "turn": 1, "hash_ids": [0]}
    path.write_text(f"{json.dumps(row)}\n", encoding="utf-8")
    assert READERS["bailian"](path).prompt_tokens.tolist() == [10]
    for reader in ("own", "mooncake"):
        with pytest.raises(InputError, match=r":1: 'chat_id' stands in Bailian's traces") as caught:
            READERS[reader](path)
        assert "--format bailian" in caught.value.remedy
    del row["chat_id"]
    path.write_text(f"{json.dumps(row)}\n", encoding="utf-8")
    assert READERS["mooncake"](path).prompt_tokens.tolist() == [10]
    with pytest.raises(InputError, match=r":1: there is no 'chat_id', which Bailian's traces have") as caught:
        READERS["bailian"](path)
    assert "--format mooncake" in caught.value.remedy


@pytest.mark.parametrize(
    ("change", "line", "problem"),
    [
        (("100,5", "1,024,5"), 2, "the line has 4 cells, the first one 3"),
        (("100,5", '"1,024",5'), 2, "'ContextTokens' is '1,024'"),
        (("100,5", "100"), 2, "the line has 2 cells, the first one 3"),
        (("100,5", "100.0,5"), 2, "'ContextTokens' is '100.0'"),
        (("100,5", "True,5"), 2, "'ContextTokens' is 'True'"),
        (("100,5", f"{10**30},5"), 2, "not a whole number of tokens"),
        (("GeneratedTokens", "GeneratedTokens,ContextTokens"), 1, "column 'ContextTokens' stands twice"),
    ],
)
def test_cells_that_do_not_fit_their_columns_are_refused(
    path: Path, change: tuple[str, str], line: int, problem: str
) -> None:
    path.write_text(AZURE.replace(*change), encoding="utf-8")
    with pytest.raises(InputError, match=problem) as caught:
        READERS["azure"](path)
    assert caught.value.line == line

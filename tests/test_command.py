"""Exit statuses and numbers of the command line."""

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from fairway.command import file_name, file_path, not_negative, positive, refuse_overwriting, run
from fairway.errors import InputError


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            InputError("is wrong", remedy="mend it", file="a.json", line=3),
            "error: a.json:3: is wrong. Remedy: mend it.",
        ),
        (IsADirectoryError(21, "Is a directory", "out"), "error: out: Is a directory. Remedy: check the path"),
        (OSError(28, "No space left on device"), "error: No space left on device. Remedy: check"),
        (OSError(28, "No space left on device", "out.json"), "error: out.json: No space left on device. Remedy: check"),
        (MemoryError(), "error: the memory does not hold that."),
    ],
)
def test_bad_input_is_one_line_and_status_2(error, line, capsys):
    def main():
        raise error

    with pytest.raises(SystemExit) as end:
        run(main)
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(line)
    assert said.count("\n") == 1


def test_a_status_is_passed_on():
    with pytest.raises(SystemExit) as end:
        run(lambda: 1)
    assert end.value.code == 1


def test_a_fault_of_ours_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        run(lambda: 1 // 0)


def test_no_file_is_read_and_written_over(tmp_path):
    read = tmp_path / "a.csv"
    read.write_text("a")
    (tmp_path / "link.csv").symlink_to(read)
    refuse_overwriting(tmp_path / "new.csv", read)
    refuse_overwriting(read, tmp_path / "missing.csv")
    for out in (read, tmp_path / "link.csv"):
        with pytest.raises(InputError, match="would be written over"):
            refuse_overwriting(out, tmp_path / "missing.csv", read)


SPARED = """
import sys, time
from fairway.command import spare_pandas
spare_pandas()
import pyarrow
pyarrow.table({"a": ["x"], "b": pyarrow.array([1])}).to_pydict()
assert "pandas" not in sys.modules
import pandas
"""


def test_pandas_is_kept_from_pyarrow_alone():
    done = subprocess.run([sys.executable, "-c", SPARED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_files_to_write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (file_name("first"), file_path("out/a.json")) == ("first", Path("out/a.json"))
    for read, odd in [
        (file_name, name) for name in ("", ".", "..", ".hidden", "../evil", "a/b", "/a", "a\nb", 201 * "a")
    ] + [(file_path, path) for path in ("", ".", "..", "/", "new/", "/dev/null")]:
        with pytest.raises(argparse.ArgumentTypeError, match="is no "):
            read(odd)


def test_numbers():
    assert (positive("7"), not_negative("0")) == (7, 0)
    for read, text in (
        (positive, "0"),
        (positive, "-5"),
        (not_negative, "-1"),
        (positive, "1.5"),
        (positive, "²"),
        (positive, "9" * 20),
    ):
        with pytest.raises(argparse.ArgumentTypeError, match="no whole number"):
            read(text)

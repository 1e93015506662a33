"""Tests of one group share what they make, so one process has to run them all."""

import subprocess
import sys
from pathlib import Path

GROUPED = """\
import os
import pytest

@pytest.mark.xdist_group("together")
@pytest.mark.parametrize("number", range(8))
def test_one(number):
    with open("ran", "a") as file:
        file.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""


def test_one_process_runs_all_of_a_group(tmp_path: Path) -> None:
    (tmp_path / "test_grouped.py").write_text(GROUPED, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "--rootdir", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout
    ran = (tmp_path / "ran").read_text(encoding="utf-8").split()
    assert len(ran) == 8
    assert len(set(ran)) == 1, "this pytest-xdist leaves the tests of a group apart"

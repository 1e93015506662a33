"""What `make` does before anything is installed: folders that cannot work, and two runs that begin at once."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def makefile(root: Path) -> Path:
    return root / "Makefile"


@pytest.mark.parametrize("name", ['a "b"', "a $x b", "a `b`", "a\\b", "$", "a:b"])
def test_a_folder_whose_name_a_shell_would_read_is_refused_at_once(name: str, tmp_path: Path, makefile: Path) -> None:
    done = started(tmp_path / name, makefile)
    assert done.returncode == 2
    assert (
        "error: the name of the folder has a double quote, dollar sign, backquote, backslash or colon in it."
        in done.stderr
    )


@pytest.mark.parametrize("name", ["plain", "it's", "a (b) & c; d", "naïve folder", "a%b#c"])
def test_other_names_are_taken(name: str, tmp_path: Path, makefile: Path) -> None:
    done = started(tmp_path / name, makefile)
    assert done.returncode == 0, done.stderr


def started(folder: Path, makefile: Path) -> subprocess.CompletedProcess[str]:
    folder.mkdir()
    shutil.copy(makefile, folder)
    return subprocess.run(
        ["make", "check-start"], cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False
    )


def test_of_two_runs_that_begin_at_once_one_sets_up_and_the_other_finds_it_done(tmp_path: Path, makefile: Path) -> None:
    shutil.copy(makefile, tmp_path)
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements/run.lock").write_text("# nothing to install\n", encoding="utf-8")
    command = ["make", f"PYTHON={sys.executable}", ".venv/.installed-run"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "encoding": "utf-8"}
    runs = [subprocess.Popen(command, cwd=tmp_path, **pipes) for _ in range(2)]
    said = [run.communicate(timeout=300)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    assert sum("Setting up .venv" in text for text in said) == 1, said
    again = subprocess.run(command, cwd=tmp_path, check=True, **pipes)
    assert "Setting up" not in again.stdout


def test_a_folder_s_name_need_not_be_of_the_locale(tmp_path: Path, makefile: Path) -> None:
    folder = tmp_path / "ü a"
    (folder / "requirements").mkdir(parents=True)
    (folder / "src").mkdir()
    (folder / "src/fairway.py").write_text("", encoding="utf-8")
    (folder / "requirements/run.lock").write_text("# nothing to install\n", encoding="utf-8")
    shutil.copy(makefile, folder)
    ascii_alone = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | ascii_alone
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "encoding": "utf-8"}
    made = subprocess.run(
        ["make", f"PYTHON={sys.executable}", ".venv/.installed-run"], cwd=folder, env=environment, check=False, **pipes
    )
    assert made.returncode == 0, made.stdout
    found = subprocess.run(
        [".venv/bin/python", "-c", "import fairway"], cwd=folder, env=environment, check=False, **pipes
    )
    assert (found.returncode, found.stdout) == (0, "")

"""Running the workflow and the scripts as a person does: as processes."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

Process = subprocess.CompletedProcess[str]

MADE = ["data", "results", "figures"]
SAY_ALL = ["--quiet", "host"]  # the default profile leaves out the jobs' details, which tests read


def tiny(root: Path, *options: str) -> list[str]:
    return [*SAY_ALL, "--configfile", str(root / "config/tiny.yaml"), *options]


def checksums(folder: Path) -> dict[str, str]:
    files = [file for part in MADE for file in sorted((folder / part).rglob("*")) if file.is_file()]
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def environment(**changed: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "SCRIPTS"}}
    return {**clean, **changed}


def execute(command: Sequence[str | Path], folder: Path, **changed: str) -> Process:
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=folder,
        env=environment(**changed),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture(scope="session")
def snakemake(root: Path) -> Callable[..., Process]:
    """Run the workflow of this repository with another folder as its working directory."""

    def run(folder: Path, *options: str, **changed: str) -> Process:
        command = ["-m", "snakemake", "--snakefile", str(root / "Snakefile"), "--directory", str(folder), *options]
        return execute(command, folder, **changed)

    return run


@pytest.fixture(scope="session")
def script(root: Path) -> Callable[..., Process]:
    """Run one script; ``more_paths`` go to PYTHONPATH beside the sources."""

    def run(folder: Path, name: str, *options: str | Path, more_paths: Sequence[Path] = ()) -> Process:
        python_path = os.pathsep.join(map(str, [root / "src", *more_paths]))
        return execute([root / "scripts" / name, *options], folder, PYTHONPATH=python_path)

    return run


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dag")


@pytest.fixture(scope="session")
def plain(shelf: Path, root: Path, snakemake: Callable[..., Process]) -> Path:
    folder = shelf / "plain"
    folder.mkdir()
    Path(os.environ["NUMBA_CACHE_DIR"]).mkdir(exist_ok=True)  # the tests' own, see tests/conftest.py
    places = sorted(path.name for path in root.iterdir())
    process = snakemake(
        folder, "--cores", "1", *tiny(root), PYTHONHASHSEED="1", TZ="UTC", LC_ALL="C", PYTHONDONTWRITEBYTECODE="1"
    )
    assert process.returncode == 0, process.stdout
    assert sorted(path.name for path in root.iterdir()) == places, "outputs go to the working directory alone"
    return folder

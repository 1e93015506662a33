"""Running the workflow and the scripts as a person does: as processes."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

Process = subprocess.CompletedProcess[str]


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

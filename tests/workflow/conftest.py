"""Running the workflow and the scripts as a person does: as processes."""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

Process = subprocess.CompletedProcess[str]

MADE = ["data", "results", "figures"]
SAY_ALL = ["--quiet", "host"]  # the default profile leaves out the jobs' details, which tests read


OF_VLLM = {"aiohttp", "prometheus_client", "torch", "vllm"}  # imported here, and in vLLM's environment alone
# As where they are not installed: the finder of installed packages does not find them.
HIDING = """\
import sys
from importlib.machinery import PathFinder

HIDDEN = {hidden!r}


class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in HIDDEN else PathFinder.find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
"""


def of_run_lock(root: Path) -> set[str]:
    """Return the import names of what `make reproduce` installs."""
    text = (root / "requirements/run.lock").read_text(encoding="utf-8")
    locked = {name.lower() for name in re.findall(r"^([\w.-]+)==", text, flags=re.MULTILINE)}
    brought = packages_distributions().items()
    return {name for name, by in brought if locked & {re.sub(r"[-_.]+", "-", one).lower() for one in by}}


@pytest.fixture(scope="session")
def run_lock_alone(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder for PYTHONPATH that hides every package that is not in requirements/run.lock."""
    folder = tmp_path_factory.mktemp("run-lock-alone")
    hidden = sorted((set(packages_distributions()) | OF_VLLM) - of_run_lock(root))
    (folder / "sitecustomize.py").write_text(HIDING.format(hidden=hidden), encoding="utf-8")
    return folder


def tiny(root: Path, *options: str) -> list[str]:
    return [*SAY_ALL, "--configfile", str(root / "config/tiny.yaml"), *options]


def checksums(folder: Path) -> dict[str, str]:
    found = [file for part in MADE for file in sorted((folder / part).rglob("*"))]
    files = [file for file in found if file.is_file() and file.name != "README.md"]  # the repository's own
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def environment(**changed: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "SCRIPTS"}}
    return {**clean, **changed}


def run(command: Sequence[str], folder: Path | None = None, **changed: str) -> Process:
    """Run a command without a terminal; what it says on both streams comes together."""
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(**changed),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )


def execute(command: Sequence[str | Path], folder: Path, **changed: str) -> Process:
    return run([sys.executable, *map(str, command)], folder, **changed)


def shell(folder: Path, line: str) -> Process:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return run(["bash", "-euc", line], folder, PATH=path)


@pytest.fixture(scope="session")
def snakemake(root: Path) -> Callable[..., Process]:
    """Run the workflow of this repository with another folder as its working directory."""

    def call(folder: Path, *options: str, **changed: str) -> Process:
        command = ["-m", "snakemake", "--snakefile", str(root / "Snakefile"), "--directory", str(folder), *options]
        return execute(command, folder, **changed)

    return call


@pytest.fixture(scope="session")
def script(root: Path) -> Callable[..., Process]:
    """Run one script; ``more_paths`` go to PYTHONPATH beside the sources."""

    def call(folder: Path, name: str, *options: str | Path, more_paths: Sequence[Path] = ()) -> Process:
        python_path = os.pathsep.join(map(str, [root / "src", *more_paths]))
        return execute([root / "scripts" / name, *options], folder, PYTHONPATH=python_path)

    return call


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dag")


@pytest.fixture(scope="session")
def plain(shelf: Path, root: Path, snakemake: Callable[..., Process]) -> Path:
    folder = shelf / "plain"
    folder.mkdir()
    Path(os.environ["NUMBA_CACHE_DIR"]).mkdir(exist_ok=True)  # the tests' own, see tests/conftest.py
    places = sorted(path.name for path in root.iterdir())
    ascii_alone = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    changed = {"PYTHONHASHSEED": "1", "TZ": "UTC", "PYTHONDONTWRITEBYTECODE": "1", **ascii_alone}
    process = snakemake(folder, "--cores", "1", *tiny(root), **changed)
    assert process.returncode == 0, process.stdout
    assert sorted(path.name for path in root.iterdir()) == places, "outputs go to the working directory alone"
    return folder


def made_here(folder: str, names: list[str]) -> set[str]:
    if Path(folder).name == "data":
        return set(names) & {"corpus", "traces"}
    hidden = {name for name in names if name.startswith(".") and name not in {".ci", ".gitignore"}}
    at_the_top = (Path(folder) / "Snakefile").exists()
    return hidden | ({"__pycache__", "results", "logs"} & set(names) if at_the_top else {"__pycache__"})


@pytest.fixture(scope="session")
def unzipped(shelf: Path, root: Path) -> Path:
    """Unpack what a download has, in a folder with an odd name, with the tests' Python in place of an environment."""
    folder = shelf / "it's a “naïve” folder (copy)"
    if (root / ".git").exists() and shutil.which("unzip"):
        # Changes that are not committed yet count too.
        stash = subprocess.run(["git", "stash", "create"], cwd=root, capture_output=True, text=True, check=True).stdout
        archive = ["git", "archive", "--format=zip", f"--output={shelf / 'download.zip'}", stash.strip() or "HEAD"]
        subprocess.run(archive, cwd=root, check=True)
        subprocess.run(["unzip", "-q", shelf / "download.zip", "-d", folder], check=True)
    else:  # the repository is a download itself
        shutil.copytree(root, folder, symlinks=True, ignore=made_here)
    python = folder / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    (folder / ".venv/.installed-run").touch()
    return folder


def not_made(folder: str, names: list[str]) -> set[str]:
    """Name what an earlier run may have made in a download."""
    if (Path(folder) / "Snakefile").exists():
        return {"results", "logs", ".snakemake"} & set(names)
    return {"corpus", "traces"} & set(names) if Path(folder).name == "data" else set()

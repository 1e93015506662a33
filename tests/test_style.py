"""Lint, format, types: the tools' own verdicts, and that pinned versions agree."""

import itertools
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

CHECKS = {
    "ruff": ["ruff", "check", "."],
    "encodings": ["ruff", "check", "--preview", "--select", "PLW1514", "."],
    "format": ["ruff", "format", "--check", "."],
    "types": ["mypy", "--strict", "src"],
    "snakefmt": ["snakefmt", "--check", "Snakefile", "workflow"],
    "snakemake-lint": ["snakemake", "--lint"],
}


@pytest.mark.parametrize("check", CHECKS)
def test_tool_is_content(check: str, root: Path) -> None:
    command = [sys.executable, "-m", *CHECKS[check]]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def locked(file: Path) -> dict[str, str]:
    found = re.findall(r"^([a-z0-9-]+)==(\S+)", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(found) == len(dict(found)), "one version per package on every Python"
    return dict(found)


def test_environments_have_the_locked_versions(root: Path) -> None:
    lock = locked(root / "requirements/run.lock")
    for file in sorted((root / "envs").glob("*.yaml")):
        python, *packages = yaml.safe_load(file.read_text(encoding="utf-8"))["dependencies"]
        assert python == "python=3.11"
        assert packages == [f"{name}={lock[name]}" for name in (pin.split("=")[0] for pin in packages)], file.name


def test_locks_agree_and_name_no_host(root: Path) -> None:
    run, dev = root / "requirements/run.lock", root / "requirements/dev.lock"
    assert locked(run).items() <= locked(dev).items()
    for file in (run, dev):
        text = file.read_text(encoding="utf-8")
        assert "://" not in text and "--index" not in text and "--find-links" not in text
        pins = re.findall(r"^[a-z0-9-]+==", text, flags=re.MULTILINE)
        assert len(pins) == len(re.findall(r"^[a-z0-9-]+==.*\\\n    --hash=sha256:", text, flags=re.MULTILINE))


def test_every_dependency_has_its_reason(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = itertools.chain(project["dependencies"], *project["optional-dependencies"].values())
    names = {re.split(r"[<>=\[]", line)[0] for line in lines} - {"fairway"}
    reasons = re.findall(
        r"^\| ([A-Za-z-]+) \|", (root / "docs/dependencies.md").read_text(encoding="utf-8"), flags=re.M
    )
    assert sorted(names) == sorted(set(reasons) - {"package"})

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
    "snakemake-lint-measured": ["snakemake", "-s", "workflow/measured.smk", "--lint"],
}


CONDA_NAMES = {"typst-py": "typst"}  # conda-forge's name of what PyPI calls otherwise


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
    others = {root / "envs/sources.yaml", *(root / "envs").glob("vllm-*.yaml")}
    for file in sorted(set((root / "envs").glob("*.yaml")) - others):
        python, *packages = yaml.safe_load(file.read_text(encoding="utf-8"))["dependencies"]
        assert python == "python=3.11"
        names = [pin.split("=")[0] for pin in packages]
        assert packages == [f"{name}={lock[CONDA_NAMES.get(name, name)]}" for name in names], file.name


def test_the_environment_of_real_data_has_the_locked_versions(root: Path) -> None:
    lock = locked(root / "requirements/real.lock")
    python, *packages, _, pip = yaml.safe_load((root / "envs/sources.yaml").read_text(encoding="utf-8"))["dependencies"]
    assert python == "python=3.11"
    assert packages == [f"{name}={lock[name]}" for name in (pin.split("=")[0] for pin in packages)]
    assert pip["pip"] == [f"llama-models=={lock['llama-models']}"]


def test_environments_of_vllm_have_the_locked_versions(root: Path) -> None:
    lock = locked_lines(root / "requirements/vllm-torch.lock") + locked_lines(root / "requirements/vllm.lock")
    _, _, pip = yaml.safe_load((root / "envs/vllm-cpu.yaml").read_text(encoding="utf-8"))["dependencies"]
    assert [line for line in pip["pip"] if not line.startswith("--")] == lock, "make lock"
    _, _, pip = yaml.safe_load((root / "envs/vllm-gpu.yaml").read_text(encoding="utf-8"))["dependencies"]
    assert pip["pip"] == locked_lines(root / "requirements/vllm-gpu.lock"), "make lock"
    gpu = locked(root / "requirements/vllm-gpu.lock")
    assert f"vllm-cpu=={gpu['vllm']}" in lock
    assert {"torch", "psutil"} <= gpu.keys(), "what scripts/preflight.py asks for"


def test_rows_are_written_by_the_same_version_everywhere(root: Path) -> None:
    files = [root / f"requirements/{name}.lock" for name in ("run", "vllm", "vllm-gpu")]
    one, *others = ([line for line in locked_lines(file) if line.startswith("pyarrow==")] for file in files)
    assert others == [one, one] and one != []


def locked_lines(file: Path) -> list[str]:
    found = re.findall(r"^([a-z0-9-]+==[^\\\n]+)", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [line.strip() for line in found]


def test_locks_agree_and_name_no_host(root: Path) -> None:
    names = ("run", "real", "dev", "vllm", "vllm-gpu", "peer")
    files = run, real, dev, *_ = [root / f"requirements/{name}.lock" for name in names]
    assert locked(run).items() <= locked(real).items() <= locked(dev).items()
    for file in files:
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

"""The appendix's table in the README is rendered from its sources, and its commands make what they say."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fairway.analysis.appendix import appendix_table, read_targets, read_times, readme_with_appendix
from fairway.errors import InputError


@pytest.fixture
def readme(root: Path) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def reference(root: Path) -> Any:
    """Return the reference of the configuration that was timed."""
    name = Path(read_times(root / "docs/target-times.json")["configuration"]).stem
    return json.loads((root / f"docs/reference/{name}/reference.json").read_text(encoding="utf-8"))


def table(root: Path, reference: Any, **other: dict[str, list[str]]) -> str:
    targets = other.get("targets", read_targets(root / "paper/appendix.yaml"))
    times = read_times(root / "docs/target-times.json")
    return appendix_table(targets, reference["tables"]["claims"], reference["origin"], times)


def test_the_readme_has_the_table_of_its_reference(root: Path, readme: str, reference: Any) -> None:
    assert readme_with_appendix(readme, table(root, reference), root / "README.md") == readme
    measured = read_times(root / "docs/target-times.json")["targets"]
    claims = [claim["id"] for claim in reference["tables"]["claims"]["claims"]]
    assert set(measured) == set(claims), "every command was timed, in one run"


def test_a_line_goes_from_claim_to_evidence_and_its_command_makes_figure_and_target(root: Path, reference: Any) -> None:
    head, _, *lines = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in table(root, reference).splitlines()
        if line.startswith("|")
    ]
    assert head == ["Claim", "Figure", "Target", "Command", "Time", "Hardware", "Expected range", "Evidence"]
    assert {len(line) for line in lines} == {len(head)}
    for _, figures, target, command, *_ in lines:
        assert target.startswith("results/")
        assert all(figure.startswith("figures/") for figure in figures.split(", ") if figure != "-")
        assert command.endswith(f" -- {figures.replace(',', '')} {target}`".replace(" - ", " "))


def test_a_claim_without_target_is_refused(root: Path, reference: Any) -> None:
    targets = read_targets(root / "paper/appendix.yaml")
    del targets["flood"]
    with pytest.raises(InputError, match="not about the same claims: flood"):
        table(root, reference, targets=targets)


def test_a_file_without_targets_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none.yaml").write_text("target: {}\n", encoding="utf-8")
    with pytest.raises(InputError, match="has no lists of targets"):
        read_targets(tmp_path / "none.yaml")


def test_times_of_another_configuration_are_refused(root: Path, reference: Any) -> None:
    other = {**reference, "origin": {**reference["origin"], "configuration": "full.yaml"}}
    with pytest.raises(InputError, match=r"times of quick\.yaml stand beside values of full\.yaml"):
        table(root, other)


def test_every_command_of_the_table_can_be_planned(root: Path, tmp_path: Path, reference: Any) -> None:
    commands = re.findall(r"`snakemake (--cores 1 [^`]+)`", table(root, reference))
    claims = [claim["id"] for claim in reference["tables"]["claims"]["claims"]]
    assert len(commands) == len(claims)
    for claim, command in zip(claims, commands, strict=True):
        assert command.endswith((f" results/claims/{claim}/claims.md", " results/exact.json"))
    (asked,) = {command.partition(" -- ")[0] + " --" for command in commands}
    targets = sorted({target for command in commands for target in command.partition(" -- ")[2].split()})
    line = ["-m", "snakemake", "--snakefile", root / "Snakefile", "--directory", tmp_path, "--dry-run"]
    planned = subprocess.run(
        [sys.executable, *line, *asked.replace("config/", f"{root}/config/").split(), *targets],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert planned.returncode == 0, planned.stdout + planned.stderr

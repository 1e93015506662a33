"""A machine without a browser skips the tests of pages, unless they are required; `.ci/run` requires them if it can."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NEEDS_A_BROWSER = "tests/workflow/test_report.py::test_a_fault_of_a_page_is_seen"
REQUIRE = "FAIRWAY_REQUIRE_BROWSER"


@pytest.mark.parametrize(
    ("required", "status", "told"), [({}, 0, "SKIPPED [1]"), ({REQUIRE: "1"}, 1, "Failed: no browser here")]
)
def test_a_missing_browser_skips_or_fails(
    required: dict[str, str], status: int, told: str, root: Path, tmp_path: Path
) -> None:
    clean = {name: value for name, value in os.environ.items() if name != REQUIRE}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", NEEDS_A_BROWSER],
        cwd=root,
        env={**clean, **required, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == status, done.stdout
    assert told in done.stdout
    assert "no browser here: one of chromium, " in done.stdout


@pytest.mark.parametrize("can_be_had", [True, False])
def test_ci_requires_a_browser_where_one_can_be_had(can_be_had: bool, root: Path, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for program in ("bash", "dirname", "cp"):
        found = shutil.which(program)
        assert found
        (programs / program).symlink_to(found)
    installs = f'case $2 in install) cp "$0" "{programs}/chromium";; esac' if can_be_had else "exit 100"
    for name, does in {"make": f'echo "$1: browser ${{{REQUIRE}:-skipped}}"', "apt-get": installs}.items():
        (programs / name).write_text(f"#!{programs}/bash\n{does}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    (tmp_path / ".ci").mkdir()
    shutil.copy(root / ".ci/run", tmp_path / ".ci/run")
    done = subprocess.run(
        [programs / "bash", tmp_path / ".ci/run"],
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"test: browser {'1' if can_be_had else 'skipped'}"
    said = [line for line in done.stderr.splitlines() if not line.startswith("no namespaces are to be had here")]
    assert said == (
        []
        if can_be_had
        else ["chromium is not here and cannot be installed: tests that open pages in a browser are skipped"]
    )

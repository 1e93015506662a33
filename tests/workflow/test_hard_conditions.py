"""Where an artifact is unpacked by somebody else: kills, a full disk, no network, no home, no git, odd folder names."""

import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.workflow.conftest import checksums, environment, run, tiny

pytestmark = pytest.mark.xdist_group("hard-conditions")

Process = subprocess.CompletedProcess[str]
Snakemake = Callable[..., Process]
KILLS = 20
FIGURE = "figures/flood.svg"  # seven jobs: a corpus, a profile, traces, three replays, the figure


def in_a_world_of_its_own(script: str, *arguments: str | Path, **changed: str) -> Process:
    """Run a shell script without network, with mounts that nobody else sees; skip where the kernel forbids that."""
    apart = ["unshare", "--map-root-user", "--net", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*apart, "true"], capture_output=True, check=False).returncode:
        said = "namespaces of users, networks and mounts are not to be had here"
        (pytest.fail if os.environ.get("FAIRWAY_REQUIRE_NAMESPACES") else pytest.skip)(said)
    return run([*apart, "sh", "-euc", script, "sh", *map(str, arguments)], **changed)


def snakemake_line(root: Path, folder: Path, *targets: str) -> str:
    options = ["--directory", str(folder), "--cores", "1", *tiny(root), "--", *targets]
    return shlex.join([sys.executable, "-m", "snakemake", "--snakefile", str(root / "Snakefile"), *options])


def same_as_in(plain: Path, folder: Path) -> bool:
    made, expected = checksums(folder), checksums(plain)
    return FIGURE in made and made == {file: expected[file] for file in made}


@pytest.fixture
def compiled(tmp_path: Path) -> str:
    """Copy the tests' compiled code, for a run that must not write into the repository."""
    folder = tmp_path / "numba"
    shutil.copytree(os.environ["NUMBA_CACHE_DIR"], folder)
    return str(folder)


READ_ONLY = """\
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
if touch "$1/docs/x" 2> /dev/null; then echo "not read-only" >&2; exit 9; fi
cd "$2"
"""


def test_a_read_only_checkout_without_network_and_home(plain: Path, root: Path, tmp_path: Path, compiled: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    changed = {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": compiled}
    script = READ_ONLY + snakemake_line(root, out, FIGURE, "results/notebooks/explore.html")
    done = in_a_world_of_its_own(script, root, tmp_path, **changed)
    assert done.returncode == 0, done.stdout
    assert same_as_in(plain, out)


def test_a_read_only_checkout_asks_for_a_folder_for_its_outputs(root: Path) -> None:
    line = shlex.join([sys.executable, "-m", "snakemake", "--cores", "1", *tiny(root)])
    refused = in_a_world_of_its_own(READ_ONLY + line, root, root)
    assert refused.returncode == 2, refused.stdout
    assert f"error: {root} is a folder that cannot be written to. Remedy: name one for the outputs: " in refused.stdout
    assert f"snakemake --directory DIR --snakefile {shlex.quote(str(root / 'Snakefile'))}" in refused.stdout
    assert "Traceback" not in refused.stdout
    refused = in_a_world_of_its_own(READ_ONLY + "make reproduce", root, root)
    assert refused.returncode == 2
    assert "error: this folder cannot be written to. Remedy: copy it" in refused.stdout


FULL = """\
mount -t tmpfs -o size="$2" none "$1"
cd "$1"
if {run} > "$3" 2>&1; then echo "the disk was large enough" >&2; exit 9; fi
mount -o remount,size=1g "$1"
{run}
cp -r "$1/." "$4"
"""


@pytest.mark.parametrize("size", ["150k", "3m"])  # Snakemake's own first files, results
def test_a_full_disk_is_told_and_the_run_goes_on_when_there_is_room(
    size: str, plain: Path, root: Path, tmp_path: Path, compiled: str
) -> None:
    disk, kept, told = tmp_path / "disk", tmp_path / "kept", tmp_path / "told"
    disk.mkdir()
    script = FULL.replace("{run}", snakemake_line(root, disk, FIGURE))
    done = in_a_world_of_its_own(script, disk, size, told, kept, NUMBA_CACHE_DIR=compiled)
    assert done.returncode == 0, done.stdout
    assert "No space left on device" in told.read_text(encoding="utf-8")
    assert same_as_in(plain, kept)


@pytest.mark.slow
def test_twenty_kills_at_random_moments_change_nothing(plain: Path, root: Path, tmp_path: Path) -> None:
    chance = random.Random(20)
    killed = 0
    while killed < KILLS:
        line = shlex.split(snakemake_line(root, tmp_path).replace("--cores 1", "--cores 2"))
        with subprocess.Popen(
            line,
            cwd=tmp_path,
            env=environment(),
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            try:
                told, _ = process.communicate(timeout=chance.uniform(0.5, 15))
                assert process.returncode == 0, told
                for made in ("results", "figures"):  # it got to the end before its kill: from the traces on anew
                    shutil.rmtree(tmp_path / made)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                killed += 1
    last = subprocess.run(shlex.split(snakemake_line(root, tmp_path)), cwd=tmp_path, env=environment(), check=False)
    assert last.returncode == 0
    assert checksums(tmp_path) == checksums(plain)

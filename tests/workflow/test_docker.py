"""The Dockerfile's steps make an image, and its container reproduces without a network.

No docker is needed: a stand-in (tests/docker) does the Dockerfile's instructions in a folder that stands for the image.
So this proves what they are, their order, and what they need; whether docker itself builds the image it does not.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config
from tests.docker.engine import IN_NAMESPACE, PYTHON, has_namespaces, write_front_end
from tests.workflow.conftest import checksums, not_made, run

pytestmark = pytest.mark.xdist_group("docker")

Process = subprocess.CompletedProcess[str]
BUILD = "docker build -t fairway ."
RUN = "docker run --rm --network none fairway"
FOLDER = "home/reviewer/fairway"
BUILDS_SOURCES = ["setuptools", "wheel"]  # what pip itself gets for a locked package that has no wheel
MADE_BY_RUNS = re.compile(r"(\.venv|results|logs|data/corpus|data/traces)(/|$)|figures/[^/]+\.(html|pdf|svg)$")
FROM = f"FROM python:{PYTHON}.1-slim-bookworm\n"


@pytest.fixture
def docker(tmp_path: Path) -> Iterator[Path]:
    """Give the folder of a stand-in for docker, whose command is in `bin`; what it holds may take 2 GB."""
    if not has_namespaces():
        if os.environ.get("FAIRWAY_REQUIRE_NAMESPACES"):
            pytest.fail("this machine's users may make no namespaces, which the stand-in for docker needs")
        pytest.skip("this machine's users may make no namespaces, which the stand-in for docker needs")
    write_front_end(tmp_path / "docker", sys.executable)
    yield tmp_path / "docker"
    subprocess.run([*IN_NAMESPACE, "rm", "-rf", str(tmp_path / "docker")], check=True)


@pytest.fixture
def download(unzipped: Path, tmp_path: Path, root: Path) -> Path:
    """Copy a download, which has an environment of its own that an image must not get."""
    base = re.search(r"^FROM python:(\d+\.\d+)\.", (root / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    if base and base[1] != PYTHON:
        pytest.skip(f"the image has Python {base[1]}; the stand-in's is the running one, {PYTHON}")
    folder = tmp_path / "a download"
    shutil.copytree(unzipped, folder, symlinks=True, ignore=not_made)
    return folder


def call(docker: Path, folder: Path, command: str) -> Process:
    return run(shlex.split(command), folder, PATH=f"{docker / 'bin'}{os.pathsep}{os.environ['PATH']}")


def build(docker: Path, folder: Path, dockerfile: str) -> Process:
    """Build an image from a few lines and a context of one file and one folder."""
    (folder / "kept").mkdir(parents=True)
    (folder / "kept/file").write_text("kept\n", encoding="utf-8")
    (folder / "ignored").touch()
    (folder / ".dockerignore").write_text("ignored\n", encoding="utf-8")
    (folder / "Dockerfile").write_text(dockerfile, encoding="utf-8")
    return call(docker, folder, BUILD)


def test_the_image_has_the_environment_and_the_sources_alone(docker: Path, download: Path) -> None:
    (download / "requirements/run.lock").write_text("", encoding="utf-8")  # so that nothing is downloaded
    (download / "results").mkdir(exist_ok=True)
    (download / "results/old").touch()
    (download / "figures/old.svg").touch()
    built = call(docker, download, BUILD)
    assert built.returncode == 0, built.stdout
    asked = re.findall(r"^Step \d+/\d+ : ([A-Z]+) ", built.stdout, re.MULTILINE)
    written = re.findall(r"^([A-Z]+) ", (download / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert asked == written
    image = docker / "images/fairway/root"
    made = image / FOLDER
    (link,) = made.glob(".venv/lib/python*/site-packages/fairway.pth")
    assert f"os.fsdecode(b'/{FOLDER}/src')" in link.read_text(encoding="ascii")
    assert (made / ".venv/.installed-run").stat().st_mtime > (made / "requirements/run.lock").stat().st_mtime
    there = {path.relative_to(made).as_posix() for path in made.rglob("*") if ".venv" not in path.parts}
    expected = {path.relative_to(download).as_posix() for path in download.rglob("*")}
    left_out = {path for path in expected if MADE_BY_RUNS.match(path)}
    assert there == expected - left_out | {".venv-lock"}
    assert {"results/old", "figures/old.svg", ".venv/.installed-run"} <= left_out


@pytest.mark.slow
def test_the_container_reproduces_without_a_network(
    docker: Path, download: Path, plain: Path, root: Path, tmp_path: Path
) -> None:
    locked = ["--no-deps", "--require-hashes", "--requirement", str(root / "requirements/run.lock")]
    for what in (locked, BUILDS_SOURCES):
        got = run([sys.executable, "-m", "pip", "download", "--dest", str(docker / "packages"), *what], tmp_path)
        if got.returncode:
            pytest.skip(f"pip cannot download the packages of requirements/run.lock here: no network?\n{got.stdout}")
    quick, tiny = (yaml.safe_load((root / f"config/{name}.yaml").read_text("utf-8")) for name in ("quick", "tiny"))
    update_config(quick, tiny)  # the smallest run in the place of one that takes minutes
    (download / "config/quick.yaml").write_text(yaml.safe_dump(quick, sort_keys=False), encoding="utf-8")
    built = call(docker, download, BUILD)
    assert built.returncode == 0, built.stdout
    done = call(docker, download, RUN)
    assert done.returncode == 0, done.stdout
    assert "Setting up .venv" not in done.stdout
    assert "Tables: results/tables/claims.md" in done.stdout
    made, expected = checksums(docker / "container" / FOLDER), checksums(plain)
    assert made.keys() - expected.keys() == {"results/report.html"}  # by make, with the times of its jobs
    differ = {file for file in expected if made[file] != expected[file]}
    assert differ == {"results/report/provenance.html"}, "it has the checksum of config/quick.yaml, another file here"


WITH_A_USER = f"{FROM}RUN useradd --create-home me\nUSER me\n"
REFUSED = {
    f"{FROM}COPY missing .": '"/missing": not found',
    f"{FROM}COPY kept ignored ./": '"/ignored": not found',
    f"{FROM}COPY ../kept .": "not found",
    f"{FROM}COPY --chown=me kept .": "unable to find user me",
    f"{FROM}EXPOSE 80": "line 2: unknown instruction: EXPOSE",
    f"{FROM}run true": "line 2: unknown instruction: run",
    f"{FROM}RUN true \\\n    && exit 3": "exit code: 3",
    f"{FROM}RUN true \\": "the last line is continued",
    f"{FROM}CMD make reproduce": "this stand-in knows no such CMD",
    f"{FROM}USER me": "unable to find user me",
    f"{FROM}WORKDIR $HOME": "this stand-in knows no such WORKDIR",
    "RUN true": "one FROM is needed",
    "FROM python:2.7.18-slim-bookworm": f"this stand-in has python:{PYTHON}.*-slim-bookworm alone",
    "FROM debian:bookworm": f"this stand-in has python:{PYTHON}.*-slim-bookworm alone",
    f"{FROM}RUN make --version": "make: not found",
    f"{FROM}RUN apt-get install --yes --no-install-recommends make": "Unable to locate package make",
    f"{FROM}RUN apt-get update && apt-get install --yes --no-install-recommends mak": "Unable to locate package mak",
    f"{FROM}RUN apt-get upgrade": "this stand-in has no `apt-get upgrade`",
    f"{WITH_A_USER}RUN apt-get update": "Permission denied",
    f"{WITH_A_USER}RUN touch /etc/mine": "Permission denied",
    f"{WITH_A_USER}WORKDIR /home/me/work\nRUN mkdir src": "Permission denied",
    f"{WITH_A_USER}COPY kept /home/me/kept\nRUN echo more >> /home/me/kept/file": "Permission denied",
    f"{FROM}RUN touch /usr/lib/mine": "Read-only file system",
    f"{FROM}RUN python -m pip download pytest": "No matching distribution found",
}


@pytest.mark.parametrize("dockerfile", REFUSED)
def test_the_stand_in_builds_no_image_of_a_bad_dockerfile(dockerfile: str, docker: Path, tmp_path: Path) -> None:
    refused = build(docker, tmp_path / "context", f"{dockerfile}\n")
    assert refused.returncode == 1
    assert REFUSED[dockerfile] in refused.stdout
    assert "Unable to find image" in call(docker, tmp_path, RUN).stdout


def test_a_container_has_its_user_its_settings_its_copies_and_no_network(docker: Path, tmp_path: Path) -> None:
    script = "id -un; echo $HOME $GIVEN; pwd; cat kept/file; touch mine ~/mine /tmp/mine; tail -n +3 /proc/net/dev"
    lines = f'WORKDIR /home/me\nCOPY --chown=me kept ./kept\nENV GIVEN="a b"\nCMD ["sh", "-euc", "{script}"]\n'
    built = build(docker, tmp_path / "context", WITH_A_USER + lines)
    assert built.returncode == 0, built.stdout
    started = call(docker, tmp_path, RUN)
    assert started.returncode == 0, started.stdout
    *said, interface = started.stdout.splitlines()
    assert said == ["me", "/home/me a b", "/home/me", "kept"]
    assert interface.split()[0] == "lo:"
    assert (docker / "container/home/me/mine").exists()
    assert not (docker / "images/fairway/root/home/me/mine").exists()


def test_a_container_ends_with_its_command_s_status(docker: Path, tmp_path: Path) -> None:
    assert build(docker, tmp_path / "context", f'{FROM}CMD ["sh", "-c", "exit 7"]\n').returncode == 0
    assert call(docker, tmp_path, RUN).returncode == 7


@pytest.mark.parametrize("command", ["docker build .", "docker run fairway", "docker ps"])
def test_the_stand_in_has_no_other_call(command: str, docker: Path, tmp_path: Path) -> None:
    refused = call(docker, tmp_path, command)
    assert refused.returncode == 1
    assert refused.stdout == f"ERROR: this stand-in has no `{command}`\n"

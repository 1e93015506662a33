"""`--use-conda` goes all the way, in the environments of envs/, to the bytes of a run without it.

No conda and no conda-forge are needed: a front end on py-rattler stands in for the one, a channel packed from the
locked wheels for the other (tests/conda). So this proves the workflow's way through conda, and that the specs agree
with that channel; whether conda-forge solves them it does not.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from tests.workflow.conftest import checksums, tiny

pytestmark = pytest.mark.xdist_group("conda")

Process = subprocess.CompletedProcess[str]
# Real data and vLLM need pip and a network beside conda.
STAGES = ["analysis", "notebook", "profile", "publication", "replay", "traces"]


@pytest.fixture(scope="session")
def conda(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `bin/conda`, whose channel has what the stages' environments ask for."""
    if sys.version_info[:2] != (3, 11):
        pytest.skip("envs/ name Python 3.11; the channel's Python links to the running one, which is another")
    from tests.conda.frontend import platform, write_front_end
    from tests.conda.packing import download_wheels, make_channel, with_what_they_need

    base = tmp_path_factory.mktemp("conda")
    wheels = base / "wheels"
    wheels.mkdir()
    specs = [spec for stage in STAGES for spec in dependencies(root / f"envs/{stage}.yaml")]
    names = with_what_they_need({spec.partition("=")[0] for spec in specs} - {"python"})
    try:
        downloaded = download_wheels(root / "requirements/run.lock", names, wheels)
    except subprocess.CalledProcessError:
        if os.environ.get("FAIRWAY_REQUIRE_CONDA"):
            raise
        pytest.skip("pip cannot download the wheels of requirements/run.lock here: no network?")
    write_front_end(base, sys.executable)
    make_channel(base / "channel", platform(), downloaded)
    return base


def dependencies(environment: Path) -> list[str]:
    return yaml.safe_load(environment.read_text(encoding="utf-8"))["dependencies"]


def run_conda(base: Path, *command: str) -> Process:
    return subprocess.run([base / "bin/conda", *command], capture_output=True, text=True, encoding="utf-8", check=False)


def test_the_same_bytes_as_without_conda(
    conda: Path, plain: Path, root: Path, tmp_path: Path, snakemake: Callable[..., Process]
) -> None:
    path = f"{conda / 'bin'}{os.pathsep}{os.environ['PATH']}"
    changed = {"PATH": path, "PYTHONDONTWRITEBYTECODE": ""}
    done = snakemake(tmp_path, "--cores", "1", "--use-conda", *tiny(root), **changed)
    assert done.returncode == 0, done.stdout
    assert checksums(tmp_path) == checksums(plain)

    used = {}
    for made in (tmp_path / ".snakemake/conda").glob("*_.yaml"):
        packages = made.with_suffix("") / "lib/python3.11/site-packages"
        # Packages come without bytecode: where there is some, a job has imported them from there.
        used[made.read_text(encoding="utf-8")] = sorted(
            {file.parents[1].name for file in packages.glob("*/__pycache__/*.pyc")}
        )
    environments = {(root / f"envs/{stage}.yaml").read_text(encoding="utf-8"): stage for stage in STAGES}
    # Two stages may ask for the same: Snakemake makes one environment for both.
    assert {environments[text] for text in used} == set(environments.values())
    imported = {environments[text]: packages for text, packages in used.items()}
    del imported["profile"]  # its check needs no package at all
    assert all("numpy" in packages for packages in imported.values())
    assert {stage for stage, packages in imported.items() if "typst" in packages} == {"publication"}
    assert {stage for stage, packages in imported.items() if "nbconvert" in packages} == {"notebook"}


@pytest.mark.parametrize("spec", ["numpy=1.0", "no-such-package", "python=3.10"])
def test_the_stand_in_does_solve(spec: str, conda: Path, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(f"channels: [conda-forge, nodefaults]\ndependencies: [python, {spec}]\n", encoding="utf-8")
    options = ["--file", str(file), "--prefix", str(tmp_path / "prefix")]
    refused = run_conda(conda, "env", "create", "--quiet", "--no-default-packages", *options)
    assert refused.returncode != 0
    assert spec.partition("=")[0] in refused.stderr
    assert not (tmp_path / "prefix").exists()


def test_the_stand_in_has_no_other_call(conda: Path) -> None:
    refused = run_conda(conda, "install", "numpy")
    assert refused.returncode == 2
    assert refused.stderr == "error: this stand-in has no `conda install numpy`\n"

"""A stand-in for `conda` that has the calls Snakemake 9 makes, and refuses every other one.

`conda-forge` is the folder `channel` beside it. Specs are solved and packages installed by py-rattler, with strict
channel priority as Snakemake wants it. What it shows is the workflow's way through conda and that the specs of `envs/`
agree with that channel; whether conda-forge itself solves them it cannot show.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path

import yaml
from rattler import ChannelPriority, Subdir, VirtualPackage, install, solve

VERSION = "24.7.1"  # the oldest that Snakemake 9 takes
ACTIVATE = """\
export CONDA_PREFIX="$1"
export PATH="$1/bin:$PATH"
"""


def platform() -> str:
    """Return the name of this machine's platform, such as ``linux-64``."""
    return str(Subdir.current())


def write_front_end(base: Path, python: str) -> None:
    """Lay `bin/conda` and `bin/activate` under ``base``."""
    (base / "bin").mkdir(parents=True)
    conda = base / "bin/conda"
    conda.write_text(f'#!/bin/sh\nexec "{python}" "{__file__}" "{base}" "$@"\n', encoding="utf-8")
    conda.chmod(0o755)
    (base / "bin/activate").write_text(ACTIVATE, encoding="utf-8")


def main(base: Path, command: list[str]) -> int:
    """Do one of Snakemake's calls."""
    if command == ["info", "--json"]:
        print(json.dumps({"conda_prefix": str(base), "platform": platform()}))
    elif command == ["--version"]:
        print(f"conda {VERSION}")
    elif command == ["config", "--get", "channel_priority", "--json"]:
        print(json.dumps({"get": {"channel_priority": "strict"}}))
    elif command == ["clean", "-y", "--tarballs"]:
        pass  # rattler keeps packages unpacked alone
    elif command[:4] == ["env", "create", "--quiet", "--no-default-packages"]:
        create(base, command[4:])
    else:
        print(f"error: this stand-in has no `conda {' '.join(command)}`", file=sys.stderr)
        return 2
    return 0


def create(base: Path, options: list[str]) -> None:
    """Make the environment of a file, as `conda env create` does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--prefix", type=Path, required=True)
    asked = parser.parse_args(options)
    environment = yaml.safe_load(asked.file.read_text(encoding="utf-8"))
    if environment["channels"] != ["conda-forge", "nodefaults"]:
        raise SystemExit(f"error: {asked.file}: this stand-in has conda-forge alone, not {environment['channels']}")
    specs = environment["dependencies"]
    if not all(isinstance(spec, str) for spec in specs):
        raise SystemExit(f"error: {asked.file}: this stand-in has no pip")
    asyncio.run(_solve_and_install(base, specs, asked.prefix))


async def _solve_and_install(base: Path, specs: list[str], prefix: Path) -> None:
    records = await solve(
        sources=[(base / "channel").as_uri()],
        specs=specs,
        virtual_packages=VirtualPackage.detect(),
        channel_priority=ChannelPriority.Strict,
    )
    await install(records, prefix, cache_dir=base / "packages", show_progress=False)


if __name__ == "__main__":
    status = main(Path(sys.argv[1]), sys.argv[2:])
    sys.stdout.flush()
    os._exit(
        status
    )  # py-rattler's threads may still let go of Python's objects while an interpreter shuts down, and crash

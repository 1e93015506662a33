"""A local conda channel, packed from wheels that pip downloads: same projects, versions and files as the lock's.

It stands in for conda-forge where there is none. A wheel's requirements become the package's, so a solver has something
to solve; what a wheel does not say (libraries of the system, build variants) is not there.
"""

from __future__ import annotations

import configparser
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from email.parser import HeaderParser
from importlib.metadata import requires
from pathlib import Path

from conda_package_handling import api
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SITE = f"lib/python{PYTHON}/site-packages"
CONDA_NAMES = {"typst": "typst-py"}  # where conda-forge has a project under another name
ZSTD_LEVEL = 3  # a quick one: the packages are unpacked once


def with_what_they_need(names: set[str]) -> set[str]:
    """Return the projects of these names on conda-forge and all that they require, as installed here."""
    projects = {conda: project for project, conda in CONDA_NAMES.items()}
    found: set[str] = set()
    to_do = [projects.get(name, name) for name in sorted(names)]
    while to_do:
        name = canonicalize_name(to_do.pop())
        if name not in found:
            found.add(name)
            to_do += [needed.name for needed in _applying(requires(name) or [])]
    return found


def download_wheels(lock: Path, names: set[str], folder: Path) -> list[Path]:
    """Let pip download the wheels of some projects of a lock file, checked against its hashes."""
    pins = re.findall(r"^[a-z0-9-]+==(?:.*\\\n)*.*\n", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
    wanted = folder / "wanted.lock"
    wanted.write_text("".join(pin for pin in pins if pin.partition("==")[0] in names), encoding="utf-8")
    options = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--quiet", "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", "download", *options, "--requirement", str(wanted)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return sorted(folder.glob("*.whl"))


def make_channel(channel: Path, platform: str, wheels: list[Path]) -> None:
    """Pack wheels, and a Python, into a channel of a platform (``linux-64``), and index it."""
    (channel / "noarch").mkdir(parents=True)
    subdir = channel / platform
    subdir.mkdir()
    _pack_python(subdir)
    for wheel in wheels:
        _pack_wheel(wheel, subdir)
    for folder in (channel / "noarch", subdir):
        _index(folder)


def _pack_wheel(wheel: Path, subdir: Path) -> None:
    name, version, _, _ = parse_wheel_filename(wheel.name)
    with tempfile.TemporaryDirectory(dir=subdir.parent) as tree, zipfile.ZipFile(wheel) as archive:
        site = Path(tree, SITE)
        archive.extractall(site)
        metadata = HeaderParser().parsestr(next(site.glob("*.dist-info/METADATA")).read_text("utf-8"))
        needs = [_as_conda(needed) for needed in _applying(metadata.get_all("Requires-Dist") or [])]
        for data in site.glob("*.data/data"):
            shutil.copytree(data, tree, dirs_exist_ok=True)
        _write_commands(site, Path(tree, "bin"))
        _pack(Path(tree), conda_name(name), str(version), [f"python {PYTHON}.*", *needs], subdir)


def _write_commands(site: Path, folder: Path) -> None:
    """Write the commands that a wheel names, to be run by the Python of the environment that is active."""
    parser = configparser.ConfigParser(delimiters="=")
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # how its documentation keeps capitals
    parser.read(site.glob("*.dist-info/entry_points.txt"), encoding="utf-8")
    for command, target in parser.items("console_scripts") if parser.has_section("console_scripts") else []:
        module, _, function = target.partition("[")[0].strip().partition(":")
        folder.mkdir(exist_ok=True)
        text = f"#!/usr/bin/env python\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"
        (folder / command).write_text(text, encoding="utf-8")
        (folder / command).chmod(0o755)


def conda_name(project: str) -> str:
    """Return what conda-forge calls a project."""
    name = canonicalize_name(project)
    return CONDA_NAMES.get(name, name)


def _pack_python(subdir: Path) -> None:
    """Pack a Python that links to the running one: no wheel has an interpreter.

    `pyvenv.cfg` gives it site-packages of its own, so nothing that is installed beside the running one is seen.
    """
    interpreter = Path(sys.executable).resolve()
    with tempfile.TemporaryDirectory(dir=subdir.parent) as tree:
        Path(tree, "bin").mkdir()
        for link in ("python", "python3", f"python{PYTHON}"):
            Path(tree, "bin", link).symlink_to(interpreter)
        home = f"home = {interpreter.parent}\ninclude-system-site-packages = false\n"
        Path(tree, "pyvenv.cfg").write_text(home, encoding="utf-8")
        Path(tree, SITE).mkdir(parents=True)
        Path(tree, SITE, "README.txt").write_text("Python itself is linked.\n", encoding="utf-8")
        _pack(Path(tree), "python", ".".join(map(str, sys.version_info[:3])), [], subdir)


def _pack(tree: Path, name: str, version: str, needs: list[str], subdir: Path) -> None:
    paths = [_path_entry(tree, Path(folder, file)) for folder, _, files in os.walk(tree) for file in files]
    index = {
        "name": name,
        "version": version,
        "build": "0",
        "build_number": 0,
        "depends": needs,
        "subdir": subdir.name,
    }
    (tree / "info").mkdir()
    for file, content in (("index", index), ("paths", {"paths": paths, "paths_version": 1})):
        (tree / f"info/{file}.json").write_text(json.dumps(content), encoding="utf-8")
    api.create(str(tree), None, str(subdir / f"{name}-{version}-0.conda"), compression_level=ZSTD_LEVEL)
    (subdir / f"{name}-{version}-0.json").write_text(json.dumps(index), encoding="utf-8")


def _index(folder: Path) -> None:
    """Write the list of packages that a solver reads."""
    packages = {}
    for file in sorted(folder.glob("*.conda")):
        index = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
        packages[file.name] = index | {
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
            "size": file.stat().st_size,
        }
    repodata = {"info": {"subdir": folder.name}, "packages": {}, "packages.conda": packages, "repodata_version": 1}
    (folder / "repodata.json").write_text(json.dumps(repodata), encoding="utf-8")


def _path_entry(tree: Path, path: Path) -> dict[str, str | int]:
    content = path.read_bytes()
    return {
        "_path": path.relative_to(tree).as_posix(),
        "path_type": "softlink" if path.is_symlink() else "hardlink",
        "sha256": hashlib.sha256(content).hexdigest(),
        "size_in_bytes": len(content),
    }


def _applying(requirements: list[str], extra: str = "") -> list[Requirement]:
    """Return the requirements that hold for this Python and platform, with those of the extras that they ask for."""
    found = []
    for needed in map(Requirement, requirements):
        # Without an extra: what every user needs. With one: what it adds.
        wanted = needed.marker is None or needed.marker.evaluate({"extra": extra})
        if wanted and bool(extra) == ("extra" in str(needed.marker or "")):
            found.append(needed)
            for asked in needed.extras:
                found += _applying(requires(needed.name) or [], asked)
    return found


def _as_conda(needed: Requirement) -> str:
    return f"{conda_name(needed.name)} {needed.specifier}".strip()

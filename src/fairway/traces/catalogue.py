"""All workloads by name: files, variants of them, and the sweep's configurations."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fairway.errors import InputError
from fairway.traces.sweep import base_file, load_sweep, swept_workload
from fairway.traces.workload import Workload, load_workload, workload_of
from fairway.yamlfile import YamlFile, read_yaml

WORKLOADS, VARIANTS, SWEEP = "workloads", "variants.yaml", "sweep.yaml"
BETWEEN = "--"  # a workload's name and its variant's
PROFILE = "profile"  # the one key of a variant that is no setting of a workload


def varied(workload: str, variant: str) -> str:
    """Return the name of a workload under a variant."""
    return f"{workload}{BETWEEN}{variant}"


def unvaried(name: str) -> str:
    """Return the name of the workload that a variant was put over."""
    return name.partition(BETWEEN)[0]


@dataclass(frozen=True)
class Reference:
    """Where a workload is described, written ``FILE``, ``FILE#VARIANT`` or ``SWEEP-FILE#NUMBER``."""

    file: Path
    part: str = ""

    @classmethod
    def parse(cls, text: str) -> Reference:
        """Read a reference; a file that exists is taken whole, whatever its name."""
        file, separator, part = text.rpartition("#")
        if not separator or Path(text).exists():
            return cls(Path(text))
        return cls(Path(file), part)

    def __str__(self) -> str:
        return f"{self.file}#{self.part}" if self.part else str(self.file)

    @property
    def files(self) -> list[Path]:
        """All files that the workload's settings come from."""
        if self.file.name == SWEEP:
            return [self.file, base_file(self.file, load_sweep(self.file))]
        return [self.file, self._variants] if self.part else [self.file]

    @property
    def profile(self) -> str | None:
        """Name of the step-time profile that the variant runs on, if it names one."""
        if self.file.name == SWEEP or not self.part:
            return None
        profile = self._changes().values.get(PROFILE)
        return None if profile is None else str(profile)

    def load(self) -> Workload:
        """Read the workload.

        Raises:
            InputError: with file and line; a variant is also refused if it does not suit the workload.
        """
        if self.file.name == SWEEP:
            return swept_workload(self.file, _number(self.part, self.file))
        return load_workload(self.file) if not self.part else self._varied()

    @property
    def _variants(self) -> Path:
        return self.file.parent.parent / VARIANTS

    def _changes(self) -> YamlFile:
        variants = read_yaml(self._variants)
        _check_known("variant", self.part, list(variants.values), self._variants)
        if not isinstance(variants.values[self.part], dict):
            file, line = variants.place((self.part,))
            raise InputError("a variant is a mapping of settings", remedy="write 'key: value'", file=file, line=line)
        return variants.part(self.part)

    def _varied(self) -> Workload:
        base = read_yaml(self.file)
        load_workload(self.file)  # a fault of the file itself is not the variant's
        changes = self._changes()
        settings = base.under(changes.without(PROFILE))
        if settings.values == base.values and self.profile is None:
            raise InputError(
                f"variant {self.part!r} changes nothing of {self.file.stem!r}", remedy="leave it out", file=changes.file
            )
        name = varied(self.file.stem, self.part)
        return workload_of(settings.under(YamlFile(self.file, {"name": name}, {})))


class Catalogue:
    """The workloads of a configuration folder: ``NAME``, ``NAME--VARIANT`` and the sweep's ``sweep-NUMBER``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names = sorted(file.stem for file in (folder / WORKLOADS).glob("*.yaml"))

    def find(self, name: str) -> Reference:
        """Return where a workload is described.

        Raises:
            InputError: there is none of that name.
        """
        if self.is_swept(name):
            return Reference(self._folder / SWEEP, str(self._swept.index(name) + 1))
        base, _, variant = name.partition(BETWEEN)
        _check_known("workload", base, self._names)
        if variant:
            _check_known("variant", variant, self._variants)
        return Reference(self._folder / WORKLOADS / f"{base}.yaml", variant)

    def is_swept(self, name: str) -> bool:
        """Say whether a workload is a configuration of the sweep."""
        return name in self._swept

    @cached_property
    def _swept(self) -> list[str]:
        file = self._folder / SWEEP
        return load_sweep(file).names() if file.exists() else []

    @cached_property
    def _variants(self) -> list[str]:
        return list(read_yaml(self._folder / VARIANTS).values)


def _check_known(kind: str, name: str, known: Sequence[str], file: Path | None = None) -> None:
    if name in known:
        return
    near = difflib.get_close_matches(name, known, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    raise InputError(f"unknown {kind} {name!r}", remedy=f"{meant}known {kind}s: {', '.join(known)}", file=file)


def _number(text: str, file: Path) -> int:
    if not text.isdecimal():
        raise InputError(f"{text!r} is no configuration's number", remedy=f"write {file}#1", file=file)
    return int(text)

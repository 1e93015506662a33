"""A strict reader of the part of the Dockerfile language that the stand-in for docker does; all else is an error."""

from __future__ import annotations

import re
from dataclasses import dataclass

UNKNOWN = {"RUN": r"^\[|^--|<<", "CMD": r"^[^[]"}  # of the others: variables, which docker puts in
KNOWN = {"CMD", "COPY", "ENV", "FROM", "RUN", "USER", "WORKDIR"}


class DockerfileError(Exception):
    """What docker refuses, or the stand-in does not know."""


@dataclass(frozen=True)
class Instruction:
    """One instruction: where it begins, its name, and what stands behind that, continued lines joined."""

    line: int
    name: str
    value: str


def read(text: str) -> list[Instruction]:
    """Return a Dockerfile's instructions in order."""
    found: list[Instruction] = []
    begun, so_far = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*#\s*(syntax|escape|check)\s*=", line):
            raise DockerfileError(f"line {number}: this stand-in knows no directives: {line}")
        if line.lstrip().startswith("#"):
            continue
        if not line.strip():
            if begun:
                raise DockerfileError(f"line {number}: an empty line within an instruction")
            continue
        begun = begun or number
        so_far += line.removesuffix("\\")
        if not line.endswith("\\"):
            found.append(_instruction(begun, so_far.strip()))
            begun, so_far = 0, ""
    if begun:
        raise DockerfileError(f"line {begun}: the last line is continued")
    names = [one.name for one in found]
    if names[:1] != ["FROM"] or names.count("FROM") > 1 or names.count("CMD") > 1:
        raise DockerfileError("one FROM is needed, at the beginning, and at most one CMD")
    return found


def _instruction(line: int, text: str) -> Instruction:
    name, _, value = text.partition(" ")
    if name not in KNOWN:
        raise DockerfileError(f"line {line}: unknown instruction: {name}")
    if not value.strip():
        raise DockerfileError(f"line {line}: {name} requires arguments")
    if re.search(UNKNOWN.get(name, r"\$"), value.strip()):
        raise DockerfileError(f"line {line}: this stand-in knows no such {name}: {value.strip()}")
    return Instruction(line, name, value.strip())

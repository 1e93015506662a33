"""Stand-ins for those commands of a Debian image that change it, for the stand-in for docker: run as its root.

They take the calls of the Dockerfile alone, and do what follows from them: a package is there once it was installed,
and a user once it was added. All else is an error, as it is for Debian's own.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

LISTS = Path("/var/lib/apt/lists/stand-in")
COMMANDS_OF = {"make": ["make"]}  # packages and what they bring
FIRST_UID = 1000


def apt_get(arguments: list[str]) -> None:
    if arguments == ["update"]:
        LISTS.touch()
        return
    if arguments[:3] != ["install", "--yes", "--no-install-recommends"] or not arguments[3:]:
        sys.exit(f"E: this stand-in has no `apt-get {' '.join(arguments)}`")
    for package in arguments[3:]:
        if package not in COMMANDS_OF or not LISTS.exists():
            sys.exit(f"E: Unable to locate package {package}")
        for command in COMMANDS_OF[package]:
            Path("/usr/bin", command).symlink_to(Path("/.host/bin", command))


def useradd(arguments: list[str]) -> None:
    if len(arguments) != 2 or arguments[0] != "--create-home" or not re.fullmatch(r"[a-z][a-z0-9-]*", arguments[1]):
        sys.exit(f"useradd: this stand-in has no `useradd {' '.join(arguments)}`")
    users = Path("/etc/passwd").read_text(encoding="utf-8").splitlines()
    name, uid = arguments[1], FIRST_UID + len(users) - 1
    if any(user.startswith(f"{name}:") for user in users):
        sys.exit(f"useradd: user '{name}' already exists")
    Path("/home", name).mkdir()
    for file, line in (("passwd", f"{name}:x:{uid}:{uid}::/home/{name}:/bin/sh"), ("group", f"{name}:x:{uid}:")):
        with Path("/etc", file).open("a", encoding="utf-8") as table:
            table.write(f"{line}\n")


COMMANDS = {"apt-get": apt_get, "useradd": useradd}

if __name__ == "__main__":
    if os.getuid() != 0:
        sys.exit(f"{sys.argv[1]}: Permission denied: are you root?")
    COMMANDS[sys.argv[1]](sys.argv[2:])

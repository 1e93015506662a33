"""A stand-in for `docker` that has the two calls of the README, and refuses every other one.

An image is a folder that the steps of a Dockerfile see as `/`, in namespaces, for which nobody needs to be root. Of
this machine they see, read-only, the libraries, the commands that a slim Debian has, and in place of the base image's
Python the one that runs the stand-in; and no network, for `apt-get` is a stand-in too, as is `useradd` (debian.py), and
pip finds the packages that a test has put into the stand-in's folder. A user may change what is the user's, not what
root has made.

So this proves the Dockerfile's steps, their order, and what they need; not that docker builds it or that its base image
has what is found here. It is strict where builders differ: a WORKDIR that is not there is made by root.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import shutil
import socket
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath

from tests.docker import debian
from tests.docker.context import Context
from tests.docker.dockerfile import DockerfileError, Instruction, read

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
IN_NAMESPACE = ["unshare", "--map-root-user"]  # root of a user namespace: who runs this, and nobody else
PATH = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# What a slim Debian has of interest here: coreutils, findutils, diffutils, grep, gzip, two shells, two languages.
TOOLS = """
    bash dash sh [ arch b2sum base32 base64 basename basenc cat chgrp chmod chown cksum comm cp csplit cut date dd
    df dir dircolors dirname du echo env expand expr factor false fmt fold groups head hostid id install join link
    ln logname ls md5sum mkdir mkfifo mknod mktemp mv nice nl nohup nproc numfmt od paste pathchk pinky pr printenv
    printf ptx pwd readlink realpath rm rmdir runcon seq sha1sum sha224sum sha256sum sha384sum sha512sum shred shuf
    sleep sort split stat stdbuf stty sum sync tac tail tee test timeout touch tr true truncate tsort tty uname
    unexpand uniq unlink users vdir wc who whoami yes find xargs cmp diff diff3 sdiff egrep fgrep grep gunzip gzip
    zcat hostname awk mawk perl sed tar which
"""
FOLDERS = ["dev/shm", "etc", "home", "proc", "root", "usr", "var/lib/apt/lists", ".host/bin", ".host/sbin", ".packages"]
OWN_COMMANDS = {"bin": "/usr/bin", "sbin": "/usr/sbin", "local-bin": "/usr/local/bin"}  # kept in /.own
DEVICES = ["full", "null", "random", "urandom", "zero"]
SIOCSIFFLAGS, IFF_UP = 0x8914, 1


@dataclass
class Image:
    """What the instructions make: a folder that is `/`, and settings."""

    root: Path
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": PATH})
    user: str = "root"
    folder: str = "/"
    command: list[str] = field(default_factory=list)

    def account(self) -> tuple[int, str]:
        """Return the user's number and home."""
        for line in (self.root / "etc/passwd").read_text(encoding="utf-8").splitlines():
            name, _, uid, _, _, home, _ = line.split(":")
            if name == self.user:
                return int(uid), home
        raise DockerfileError(f"unable to find user {self.user}: no matching entries in passwd file")


def write_front_end(base: Path, python: str) -> None:
    """Lay `bin/docker` under ``base``, and a folder for the packages that pip may find while an image is built."""
    (base / "bin").mkdir(parents=True)
    (base / "packages").mkdir()
    line = shlex.join([*IN_NAMESPACE, python, "-P", "-m", "tests.docker.engine", str(base)])
    path = f"PYTHONPATH={shlex.quote(str(Path(__file__).parents[2]))}"
    (base / "bin/docker").write_text(f'#!/bin/sh\n{path} exec {line} "$@"\n', encoding="utf-8")
    (base / "bin/docker").chmod(0o755)


def has_namespaces() -> bool:
    """Say whether this machine lets its users make the namespaces that the stand-in needs."""
    within = "mount --rbind /proc /proc && exec unshare --map-user=1000 --map-group=1000 true"
    command = [*IN_NAMESPACE, "unshare", "--mount", "--net", "sh", "-c", within]
    return bool(shutil.which("unshare")) and subprocess.run(command, capture_output=True, check=False).returncode == 0


def main(base: Path, arguments: list[str]) -> int:
    """Do one of the README's calls."""
    match arguments:
        case ["build", "-t", name, folder] if re.fullmatch(r"[a-z]+", name):
            build(base, name, Path(folder))
        case ["run", "--rm", "--network", "none", name] if re.fullmatch(r"[a-z]+", name):
            return start(base, name)
        case _:
            raise DockerfileError(f"this stand-in has no `docker {' '.join(arguments)}`")
    return 0


def build(base: Path, name: str, folder: Path) -> None:
    """Do a Dockerfile's instructions; the image is there only if all went well."""
    places = base / "images", base / "half-built"
    for place in places:
        shutil.rmtree(place / name, ignore_errors=True)
    done, coming = (place / name for place in places)
    context = Context(folder)
    instructions = read((folder / "Dockerfile").read_text(encoding="utf-8"))
    image = Image(coming / "root")
    image.root.mkdir(parents=True)
    for number, one in enumerate(instructions, 1):
        print(f"Step {number}/{len(instructions)} : {one.name} {one.value}", flush=True)
        do(image, one, context, base / "packages")
    settings = asdict(image) | {"root": str(done / "root")}
    (coming / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    done.parent.mkdir(exist_ok=True)
    coming.rename(done)


def do(image: Image, one: Instruction, context: Context, packages: Path) -> None:
    """Do one instruction."""
    match one.name:
        case "FROM":
            lay_base(image.root, one.value)
        case "RUN":
            run_step(image, one.value, packages)
        case "COPY":
            copy(image, one, context)
        case "USER":
            image.user = one.value
            image.account()
        case "WORKDIR":
            image.folder = str(PurePosixPath(image.folder, one.value))
            missing = missing_parents(inside(image.root, image.folder))
            inside(image.root, image.folder).mkdir(parents=True, exist_ok=True)
            keep_for_root(missing)
        case "ENV":
            pairs = [word.partition("=") for word in shlex.split(one.value)]
            if not all(equals for _, equals, _ in pairs):
                raise DockerfileError(f"line {one.line}: this stand-in knows no such ENV: {one.value}")
            image.environment |= {name: value for name, _, value in pairs}
        case "CMD":  # read() lets a list pass alone
            image.command = json.loads(one.value)


def lay_base(root: Path, name: str) -> None:
    """Lay out what stands for the base image."""
    version = re.fullmatch(r"python:(\d+\.\d+)\.\d+-slim-bookworm", name)
    if not version or version[1] != PYTHON:
        raise DockerfileError(f"{name}: this stand-in has python:{PYTHON}.*-slim-bookworm alone")
    for folder in [*FOLDERS, *(f".own/{kind}" for kind in OWN_COMMANDS), *(path[1:] for path, _ in host_folders())]:
        (root / folder).mkdir(parents=True, exist_ok=True)
    for folder in ("bin", "sbin", "lib", "lib64"):  # as on any Debian of the last years
        (root / folder).symlink_to(f"usr/{folder}")
    for device in DEVICES:
        (root / "dev" / device).touch()
    for file in ("etc/ld.so.cache", "etc/nsswitch.conf"):
        if Path("/", file).exists():
            shutil.copy2(Path("/", file), root / file)
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n", encoding="utf-8")
    (root / "etc/group").write_text("root:x:0:\n", encoding="utf-8")
    for tool in TOOLS.split():
        if found := shutil.which(tool, path="/usr/bin:/bin"):
            (root / ".own/bin" / tool).symlink_to(as_seen_inside(Path(found).resolve()))
    shutil.copy2(Path(sys.executable).resolve(), root / f".own/local-bin/python{PYTHON}")
    for link in ("python", "python3"):
        (root / ".own/local-bin" / link).symlink_to(f"python{PYTHON}")
    shutil.copy(debian.__file__, root / ".own/debian.py")
    for command in debian.COMMANDS:
        file = root / ".own/sbin" / command
        file.write_text(f'#!/bin/sh\nexec /usr/local/bin/python3 /.own/debian.py {command} "$@"\n', encoding="utf-8")
        file.chmod(0o755)
    keep_for_root(entries(root))
    for folder in ("tmp", "var/tmp"):
        (root / folder).mkdir()
        (root / folder).chmod(0o1777)


def as_seen_inside(file: Path) -> Path:
    """Return where a command of this machine is in an image, whose own commands hide those of /usr/bin and the like."""
    hidden = {"/usr/bin": "/.host/bin", "/usr/sbin": "/.host/sbin"}
    return Path(hidden.get(str(file.parent), file.parent), file.name)


def host_folders() -> Iterator[tuple[str, str]]:
    """Yield what an image sees of this machine: where it sees it, and where it is."""
    yield "/usr", "/usr"
    yield "/.host/bin", "/usr/bin"
    yield "/.host/sbin", "/usr/sbin"
    python = str(Path(sys.executable).resolve().parents[1])
    yield "/usr/local", python  # where the base image has it
    if not Path(python).is_relative_to("/usr"):
        yield python, python  # where it looks for its libraries


def run_step(image: Image, line: str, packages: Path) -> None:
    before = set(entries(image.root)) if image.user == "root" else set()
    environment = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/.packages"}  # while it is built; no setting of the image
    status = enter(image, ["/bin/sh", "-c", line], environment, packages)
    if status:
        raise DockerfileError(f'process "/bin/sh -c {line}" did not complete successfully: exit code: {status}')
    homes = image.root / "home"
    if image.user == "root":
        keep_for_root(path for path in entries(image.root) if path not in before and path.parent != homes)


def copy(image: Image, one: Instruction, context: Context) -> None:
    *sources, target = shlex.split(one.value)
    owner = "root"
    if sources and sources[0].startswith("--chown="):
        owner = sources.pop(0).removeprefix("--chown=")
    if not sources or any(source.startswith("--") or "*" in source for source in sources):
        raise DockerfileError(f"line {one.line}: this stand-in knows no such COPY: {one.value}")
    Image(image.root, user=owner).account()
    found = [context.find(source) for source in sources]
    place = inside(image.root, str(PurePosixPath(image.folder, target)))
    into = target.endswith("/") or target == "."
    if len(found) > 1 and not into:
        raise DockerfileError(f"line {one.line}: with more than one source, the target must end in /")
    written = missing_parents(place if into else place.parent)
    (place if into else place.parent).mkdir(parents=True, exist_ok=True)
    for source in found:
        whole = context.is_folder(source) or not into
        written += context.copy(source, place if whole else place / source.name)
    if owner == "root":
        keep_for_root(written)


def inside(root: Path, path: str) -> Path:
    """Return where an image's absolute path is on this machine."""
    return root / os.path.normpath(path).lstrip("/")


def missing_parents(path: Path) -> list[Path]:
    return [one for one in [path, *path.parents] if not one.exists()]


def entries(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        yield from (Path(folder, name) for name in [*folders, *files])


def keep_for_root(paths: Iterator[Path] | Sequence[Path]) -> None:
    """Let a user do with these what others than the owner may do.

    Here root and the user of an image are one user of the machine, so files have one owner; but root may do all.
    """
    for path in list(paths):
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode):
            path.chmod(stat.S_IMODE(mode) & ~0o700 | (mode & 0o7) << 6)


def start(base: Path, name: str) -> int:
    """Run an image's command, without a network, in a container of its own.

    `--rm` would remove that; it stays in `container` until the next one, for a test to look into.
    """
    file = base / "images" / name / "settings.json"
    if not file.exists():
        raise DockerfileError(f"Unable to find image '{name}' locally")
    image = Image(**json.loads(file.read_text(encoding="utf-8")))
    shutil.rmtree(base / "container", ignore_errors=True)
    subprocess.run(["cp", "-a", str(image.root), str(base / "container")], check=True)
    image.root = base / "container"
    if not image.command:
        raise DockerfileError("no command specified")
    return enter(image, image.command, {}, None)


def enter(image: Image, command: list[str], more: dict[str, str], packages: Path | None) -> int:
    """Run a command in an image as its user, with or without packages for pip to find."""
    uid, home = image.account()
    within = {
        "root": str(image.root),
        "uid": uid,
        "folder": image.folder,
        "environment": image.environment | {"HOME": home} | more,
        "command": command,
        "packages": str(packages) if packages else None,
    }
    apart = ["unshare", "--mount", "--net", sys.executable, "-P", "-m", "tests.docker.engine"]
    line = [*apart, "--within", json.dumps(within)]
    return subprocess.run(line, stdin=subprocess.DEVNULL, check=False).returncode


def become(within: dict) -> None:
    """Set up what a command sees, in namespaces that this process alone is in, and become it."""
    root = Path(within["root"])
    raise_loopback()
    seen = list(host_folders()) + ([("/.packages", within["packages"])] if within["packages"] else [])
    for place, source in seen:
        mount("--rbind", source, inside(root, place))
        mount("-o", "remount,bind,ro", inside(root, place))
    for kind, place in OWN_COMMANDS.items():
        mount("--bind", root / ".own" / kind, inside(root, place))
    for device in DEVICES:
        mount("--bind", Path("/dev", device), root / "dev" / device)
    mount("--rbind", "/proc", root / "proc")
    mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", root / "dev/shm")
    user = [f"--map-user={within['uid']}", f"--map-group={within['uid']}"]
    line = ["unshare", *user, f"--root={root}", f"--wd={within['folder']}", "--", *within["command"]]
    os.execve(str(shutil.which("unshare")), line, within["environment"])


def mount(*options: str | Path) -> None:
    subprocess.run(["mount", *map(str, options)], check=True)


def raise_loopback() -> None:
    """Bring up all that a container without a network has of one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as some:
        fcntl.ioctl(some, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))


if __name__ == "__main__":
    if sys.argv[1] == "--within":
        become(json.loads(sys.argv[2]))
    try:
        sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
    except DockerfileError as error:
        print(f"ERROR: {error}", file=sys.stderr)
        sys.exit(1)

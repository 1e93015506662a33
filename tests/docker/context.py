"""What `docker build` sees of a folder: all but what its .dockerignore names."""

from __future__ import annotations

import os
import shutil
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from tests.docker.dockerfile import DockerfileError


class Context:
    """A folder whose files a Dockerfile copies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        ignore = folder / ".dockerignore"
        lines = ignore.read_text(encoding="utf-8").splitlines() if ignore.exists() else []
        self._ignored = [line.strip().strip("/") for line in lines if line.strip() and not line.startswith("#")]
        for pattern in self._ignored:
            if pattern.startswith("!") or "**" in pattern:
                raise DockerfileError(f".dockerignore: this stand-in knows no such pattern: {pattern}")

    def find(self, source: str) -> PurePosixPath:
        """Return a path that COPY names, relative to the folder."""
        relative = PurePosixPath(os.path.normpath(source.lstrip("/")))
        hidden = any(self._is_ignored(one) for one in [relative, *relative.parents])
        if ".." in relative.parts or hidden or not (self._folder / relative).exists():
            raise DockerfileError(f'"/{relative}": not found in the build context')
        return relative

    def is_folder(self, relative: PurePosixPath) -> bool:
        """Say whether a path leads to a folder."""
        return (self._folder / relative).is_dir()

    def copy(self, relative: PurePosixPath, target: Path) -> list[Path]:
        """Copy a file, or what a folder holds, and return all that was written."""
        source = self._folder / relative
        if source.is_dir() and not source.is_symlink():
            written = [] if target.is_dir() else [target]
            target.mkdir(parents=True, exist_ok=True)
            for name in sorted(path.name for path in source.iterdir()):
                if not self._is_ignored(relative / name):
                    written += self.copy(relative / name, target / name)
            return written
        target.unlink(missing_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)
        return [target]

    def _is_ignored(self, relative: PurePosixPath) -> bool:
        for pattern in self._ignored:
            parts = pattern.split("/")
            if len(parts) == len(relative.parts) and all(map(fnmatchcase, relative.parts, parts)):
                return True
        return False

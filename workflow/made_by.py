"""What a report says of the software that made it. Nothing of it goes into a result, whose bytes are the same."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

UNKNOWN = "unknown"  # as in a download, which has no history


def made_by(base: Path) -> dict[str, str]:
    """Return the commit of the repository in ``base``, and the versions of Python and Snakemake."""
    return {"commit": _commit(base), "python": platform.python_version(), "snakemake": version("snakemake")}


def _commit(base: Path) -> str:
    if not (base / ".git").exists():  # a download may lie in some other repository
        return UNKNOWN
    command = ["git", "-C", str(base), "describe", "--always", "--abbrev=12", "--dirty"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    except FileNotFoundError:
        return UNKNOWN
    return found.stdout.strip() or UNKNOWN

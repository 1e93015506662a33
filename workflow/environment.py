"""What the workflow's jobs find in their environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def use_sources(base: Path) -> None:
    """Let a rule's `python` be the one that runs Snakemake, `fairway` the one in ``base``/src, $SCRIPTS its scripts.

    Under --use-conda the activated environment puts its own Python before ours; `fairway` still comes from PYTHONPATH.
    So the package needs no installation in any of the environments.
    """
    os.environ.update(
        PATH=_prepended(str(Path(sys.executable).parent), "PATH"),
        PYTHONPATH=_prepended(str(base / "src"), "PYTHONPATH"),
        SCRIPTS=str(base / "scripts"),
        PYTHONUNBUFFERED="1",  # a job's progress is seen at once, also through `tee`
    )


def _prepended(folder: str, name: str) -> str:
    return os.pathsep.join(filter(None, [folder, os.environ.get(name)]))

"""One run at a time in a working directory, by a lock that dies with its process.

Snakemake's own lock outlives a killed run and then wants `--unlock`; workflow/profiles/default turns it off.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import sys
from pathlib import Path
from typing import IO

from fairway.errors import EXIT_BAD_INPUT

LOCK_FILE = Path(".snakemake/fairway.lock")
RESULT_FOLDERS = ("results", "figures", "data/corpus", "data/traces")
_held: list[IO[str]] = []  # an open file keeps its lock for as long as the process lives


def refuse_folder_that_cannot_be_written_to(snakefile: Path) -> None:
    """End with a remedy where Snakemake itself would end in a traceback, as soon as it makes its own folder."""
    if os.access(".", os.W_OK):
        return
    remedy = f"name one for the outputs: snakemake --directory DIR --snakefile {shlex.quote(str(snakefile))} ..."
    print(f"error: {Path.cwd()} is a folder that cannot be written to. Remedy: {remedy}", file=sys.stderr)
    sys.exit(EXIT_BAD_INPUT)


def claim_folder() -> None:
    """Lock the working directory for this process, and tidy it; end as on bad input if another run has it."""
    LOCK_FILE.parent.mkdir(exist_ok=True)
    file = LOCK_FILE.open("w", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("error: another run is at work in this folder. Remedy: wait for it, or stop it.", file=sys.stderr)
        sys.exit(EXIT_BAD_INPUT)
    _held.append(file)
    _remove_half_written()


def _remove_half_written() -> None:
    """Remove what a killed run was just writing (fairway.files.atomic_path): nobody else writes in a claimed folder."""
    for folder in RESULT_FOLDERS:
        for part in Path(folder).rglob(".*.part"):
            part.unlink(missing_ok=True)

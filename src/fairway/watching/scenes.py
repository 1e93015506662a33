"""The two kinds of scenes: the worked example, and a phase of a trace's file."""

from __future__ import annotations

from pathlib import Path

from fairway.engine import Limits
from fairway.errors import InputError
from fairway.files import sha256
from fairway.profile import Profile
from fairway.traces import read_trace
from fairway.watching.recording import Scene
from fairway.watching.worked_example import ABOUT, PHASE, names, worked_example


def scene_of(
    file: Path | None, phase: str, profile: Profile, *, budget_tokens: int, max_num_seqs: int, block_tokens: int
) -> Scene:
    """Return the scene of a phase of a trace's file, or, without a file, the worked example.

    Raises:
        InputError: the file is no trace, or its header does not name the cache's size.
    """
    trace = worked_example() if file is None else read_trace(file)
    cache_blocks = trace.header.get("parameters", {}).get("cache_blocks")
    if cache_blocks is None:
        raise InputError("has no header that names cache_blocks", file=file, remedy="give a trace of the workflow")
    limits = Limits(cache_blocks, budget_tokens, max_num_seqs, block_tokens)
    if file is None:
        return Scene("Worked example", ABOUT, trace, "", PHASE, profile, limits, names())
    title = f"The {phase} of {trace.header.get('workload', file.stem)}"
    return Scene(title, _about(phase), trace, sha256(file), phase, profile, limits)


def _about(phase: str) -> str:
    return (
        f"Every step from the beginning of the {phase} until the last request that arrived in it has its first token, "
        "under whichever policy takes longest. Requests that arrived before or after it wait and run as well, but do "
        "not count in the times to first token."
    )

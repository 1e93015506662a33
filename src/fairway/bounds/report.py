"""The least work of a workload's requests as a file, one list a seed, in order of the trace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairway.bounds.least_work import LeastWork, least_works
from fairway.errors import InputError
from fairway.profile import Profile
from fairway.traces import Trace, read_trace


def bounds_of(files: Sequence[Path], profile: Profile, budget_tokens: int, block_tokens: int) -> dict[str, Any]:
    """Return the least work of the requests of every trace, by seed (without one in its header, a trace's place).

    Raises:
        InputError: a trace cannot be read, or two of them have one seed.
    """
    traces: dict[str, Trace] = {}
    for place, file in enumerate(files):
        trace = read_trace(file)
        seed = str(trace.header.get("seed", place))
        if seed in traces:
            raise InputError(f"has seed {seed}, as another trace has", file=file, remedy="give each trace once")
        traces[seed] = trace
    works = least_works(list(traces.values()), profile, budget_tokens, block_tokens)
    seeds = {seed: _columns(work) for seed, work in zip(traces, works, strict=True)}
    return {"profile": profile.name, "budget_tokens": budget_tokens, "block_tokens": block_tokens, "seeds": seeds}


def _columns(work: LeastWork) -> dict[str, list[int]]:
    return {name: getattr(work, name).tolist() for name in ("free_tokens", "size_ns", "least_ns")}

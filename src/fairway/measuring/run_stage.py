"""A workload on a real server: every seed's trace by wall clock, and the rows that a replay would leave."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fairway.errors import InputError
from fairway.files import is_sealed, sha256, write_sealed
from fairway.hooks import Hooks
from fairway.measuring.lone import lone_fit
from fairway.profile import Profile
from fairway.recording import Labels, concatenated, hook_columns, request_columns, run_columns
from fairway.replay import Replay
from fairway.rows import FILE_NAMES, MEASUREMENT, edited_files, order_statistic, read_runs, write_rows
from fairway.serving import RunningServer, Serving
from fairway.serving.pool import Servers
from fairway.serving.wall_replay import STEP_PROFILE_S, UNSERVED, Measured, measure
from fairway.traces import Trace, read_trace

BACKEND = "vllm"
EVIDENCE = "measured"
_LARGEST_LATENESS_MS = 50.0
_ATTEMPTS = 3


@dataclass(frozen=True)
class Run:
    """One policy on a server; ``profile`` is what the policy's estimates come from, ``versions`` what ran.

    ``commit`` is the repository's, for the record: a run that goes on at another one is still the same.
    """

    serving: Serving
    profile: Profile
    profile_sha256: str
    label: str
    device: str
    versions: dict[str, str]
    commit: str


def run_workload(run: Run, files: Sequence[Path], folder: Path, servers: Servers) -> list[str]:
    """Measure every trace and write the rows of all to ``folder``; return one message a refused request.

    Each trace is served with the cache that it asks for, emptied before.

    Raises:
        InputError: the server fails, counts other tokens than the trace, or the client was later than 50 ms with more
            than one request in a hundred, three times.
    """
    tables, facts, refusals = [], [], []
    for place, file in enumerate(files):
        trace = read_trace(file)
        serving = _for_trace(run.serving, trace)
        server = servers.get(serving)
        lone = lone_fit(server, run.profile)
        _refuse_untimed(server)
        measured, discarded = _measured_in_time(trace, server, f"{run.label}, {file.name}", file)
        labels = Labels.of(trace, run.label, run.profile, BACKEND, EVIDENCE, sha256(file), place)
        result = as_replay(trace, measured)
        tables.append(
            (
                request_columns(trace, result, labels),
                hook_columns(Hooks.of([]), labels),
                run_columns(trace, result, labels, serving.limits.cache_blocks, serving.limits.block_tokens),
            )
        )
        about = {"commit": run.commit, "arguments": serving.kept_arguments()}
        probed = {"lone_requests": asdict(lone), "discarded_since_client_was_late": discarded}
        facts.append({**_facts(labels.seed, measured), **about, **probed})
        refusals += [f"{file}: {message}" for message in measured.refusals]
    write_rows(folder, *(concatenated(parts) for parts in zip(*tables, strict=True)))
    write_sealed(folder / MEASUREMENT, {**_settings(run), "runs": facts})
    return refusals


def put_in_place(measured: Path, folder: Path) -> None:
    """Let measured rows take the place of those that lie in ``folder``.

    Raises:
        InputError: something else lies there.
    """
    if folder.exists() and not _has_rows_alone(folder):
        raise InputError("has other files than measured rows", remedy="give another folder", file=folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    measured.replace(folder)


def _has_rows_alone(folder: Path) -> bool:
    return folder.is_dir() and {file.name for file in folder.iterdir()} <= {*FILE_NAMES, MEASUREMENT}


def is_measured(run: Run, files: Sequence[Path], folder: Path) -> bool:
    """Say whether ``folder`` has the rows of just these traces from just such a run, as they were written."""
    try:
        facts = json.loads((folder / MEASUREMENT).read_text(encoding="utf-8"))
        traces = sorted(read_runs(folder)["trace_sha256"].to_pylist())
        is_edited = not isinstance(facts, dict) or not is_sealed(facts) or bool(edited_files(folder))
    except (OSError, ValueError, InputError):
        return False
    if is_edited:
        return False
    settings = {key: facts.get(key) for key in _settings(run)}
    arguments = [_for_trace(run.serving, read_trace(file)).kept_arguments() for file in files]
    is_same = settings == _settings(run) and arguments == [one.get("arguments") for one in facts.get("runs", [])]
    return is_same and traces == sorted(map(sha256, files))


def _settings(run: Run) -> dict[str, Any]:
    return {
        "device": run.device,
        "versions": run.versions,
        "profile_sha256": run.profile_sha256,
        "model": run.serving.model,
    }


def as_replay(trace: Trace, measured: Measured) -> Replay:
    """Return what a client saw in the form of a replay; what no client sees is UNSERVED or 0."""
    served = ~measured.refused
    unknown = np.full(len(trace), UNSERVED, dtype=np.int64)
    return Replay(
        start_ns=unknown,
        first_token_ns=measured.first_token_ns,
        finish_ns=measured.finish_ns,
        hit_tokens=measured.hit_tokens,
        preemptions=np.zeros(len(trace), dtype=np.int64),  # the server counts them for all together
        refused=measured.refused,
        refusals=measured.refusals,
        steps=0,
        busy_ns=0,
        end_ns=int(measured.finish_ns.max()),
        evicted_blocks=0,
        computed_tokens=int((trace.prompt_tokens - measured.hit_tokens)[served].sum()),
        extrapolated_tokens=0,
        hooks=None,
    )


def _for_trace(serving: Serving, trace: Trace) -> Serving:
    """Give the server the cache that the trace's header asks for; its blocks may have another size."""
    header = trace.header.get("parameters", {})
    if "cache_blocks" not in header:
        return serving
    return replace(serving, limits=replace(serving.limits, cache_blocks=int(header["cache_blocks"])))


def _refuse_untimed(server: RunningServer) -> None:
    """Refuse a server that should have timed the steps of requests before, and has not."""
    if server.serving.plugin.get("time_steps") and not server.metrics().get(STEP_PROFILE_S):
        problem = "the server's /metrics have no times of its steps"
        raise InputError(problem, remedy="read what it says of stat loggers", file=server.log)


def _measured_in_time(trace: Trace, server: RunningServer, label: str, file: Path) -> tuple[Measured, int]:
    """Measure until the client was in time, and say how often it was not; refuse after three times."""
    late_ms = 0.0
    for discarded in range(_ATTEMPTS):
        measured = measure(trace, server, label)
        late_ms = order_statistic(measured.late_ns[~measured.refused], 99) / 1e6
        if late_ms <= _LARGEST_LATENESS_MS:
            return measured, discarded
    raise InputError(
        f"the client sent one request in a hundred more than {late_ms:.0f} ms late, {_ATTEMPTS} times",
        file=file,
        remedy="leave it a core of its own, or measure a slower trace",
    )


def _facts(seed: int, measured: Measured) -> dict[str, Any]:
    late = measured.late_ns[~measured.refused]
    gaps = measured.token_gap_ns
    return {
        "seed": seed,
        "client_late_ms": {name: order_statistic(late, percent) / 1e6 for name, percent in _PERCENTILES.items()},
        "preemptions": measured.preemptions,
        "steps": {"seconds": measured.step_s, "profile_seconds": measured.step_profile_s},
        "token_gap_ms": {name: order_statistic(gaps, percent) / 1e6 for name, percent in _PERCENTILES.items()}
        if len(gaps)
        else {},
        "tokens_per_s": (len(gaps) + int((~measured.refused).sum())) / (measured.finish_ns.max() / 1e9),
    }


_PERCENTILES = {"p50": 50, "p99": 99, "worst": 100}

"""Our replay beside the peer's, on the same trace in the same run, one after the other and again."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.child import run_child
from benchmarks.peer import Peer
from benchmarks.replaying import CACHE_BLOCKS
from benchmarks.trace_files import Pressure, TraceFiles
from fairway.engine import Limits


def measure_against_peer(
    files: TraceFiles,
    peer: Peer | None,
    pressures: Sequence[Pressure],
    policies: Sequence[str],
    requests: int,
    repetitions: int,
) -> dict[str, Any]:
    """Return, for each pressure, the seconds of every repetition on both sides and how loaded both sides were."""
    traces = {pressure.name: files.parquet(pressure, requests) for pressure in pressures}
    lines = {name: files.json_lines(trace) for name, trace in traces.items()} if peer else {}
    runs = [(name, _once(name, traces, lines, peer, policies)) for _ in range(repetitions) for name in traces]
    return {
        "requests": requests,
        "repetitions": repetitions,
        "peer": {"name": "aisimulate", "version": peer.version()} if peer else None,
        "pressures": [
            {
                **dataclasses.asdict(pressure),
                **_together([run for name, run in runs if name == pressure.name]),
                "peer_load": dataclasses.asdict(peer.load(lines[pressure.name], Limits(CACHE_BLOCKS)))
                if peer
                else None,
            }
            for pressure in pressures
        ],
    }


def _once(
    name: str, traces: dict[str, Path], lines: dict[str, Path], peer: Peer | None, policies: Sequence[str]
) -> dict[str, Any]:
    peer_s = peer.replay_s(lines[name], Limits(CACHE_BLOCKS)) if peer else None
    ours = run_child("replaying", "--trace", traces[name], "--policies", *policies)
    print(f"  {name}: peer {f'{peer_s:.2f} s' if peer_s else 'not there'}, ours", end="")
    print(*(f" {row['policy']} {row['wall_s']:.3f} s" for row in ours["replays"]), sep=",", flush=True)
    return {"peer_s": peer_s, **ours}


def _together(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Put the repetitions of one pressure side by side; loads are the same in each."""
    first = runs[0]
    rows = [
        {
            **{name: value for name, value in row.items() if name not in ("wall_s", "cpu_s")},
            "wall_s": [run["replays"][place]["wall_s"] for run in runs],
            "cpu_s": [run["replays"][place]["cpu_s"] for run in runs],
        }
        for place, row in enumerate(first["replays"])
    ]
    return {
        "mean_prompt_tokens": first["mean_prompt_tokens"],
        "mean_blocks": first["mean_blocks"],
        "peer_s": [run["peer_s"] for run in runs if run["peer_s"] is not None],
        "preparing_s": [run["preparing"]["wall_s"] for run in runs],
        "replays": rows,
    }

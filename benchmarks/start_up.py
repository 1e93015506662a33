"""What a replay costs before its first step: the interpreter, imports, and compiled code, made or loaded."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.child import run_child
from benchmarks.clock import timed
from benchmarks.trace_files import Pressure, TraceFiles

REQUESTS = 200


def measure_start_up(files: TraceFiles, pressure: Pressure, policy: str, repetitions: int) -> dict[str, Any]:
    """Return the seconds of whole processes: one that only imports, and small replays without and with a cache."""
    trace = files.parquet(pressure, REQUESTS)
    with tempfile.TemporaryDirectory() as cache:

        def replay_s() -> float:
            return timed(lambda: run_child("replaying", "--trace", trace, "--policies", policy, NUMBA_CACHE_DIR=cache))[
                1
            ].wall_s

        cold_s = replay_s()
        cached_s = [replay_s() for _ in range(repetitions)]
    import_s = [
        timed(lambda: _run([sys.executable, "-c", "import fairway.replay"]))[1].wall_s for _ in range(repetitions)
    ]
    print(f"  import {min(import_s):.2f} s, small replay {cold_s:.2f} s, again {min(cached_s):.2f} s", flush=True)
    return {"policy": policy, "requests": REQUESTS, "import_s": import_s, "cold_s": cold_s, "cached_s": cached_s}


def _run(command: Sequence[str | Path]) -> None:
    subprocess.run(command, check=True)

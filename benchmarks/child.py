"""Measurements in processes of their own, so that each has its own peak memory and none warms up another."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from typing import Any

_THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON", "ARROW")


def keep_to_one_core() -> int:
    """Bind this process and its children to one core, with one thread in every library; return the core's number."""
    os.environ.update({f"{library}_NUM_THREADS": "1" for library in _THREADS})
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def run_child(module: str, *arguments: object, **environment: str) -> Any:
    """Run ``python -m benchmarks.<module>`` and return the JSON that it prints; its messages go to the terminal."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)],
        env=os.environ | environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    return json.loads(done.stdout)


def peak_memory_mib() -> int:
    """Return the most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

"""How time and memory grow with the trace, each size in a process of its own; reading and preparing apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.child import run_child
from benchmarks.trace_files import Pressure, TraceFiles


def measure_growth(
    files: TraceFiles, pressure: Pressure, policies: Sequence[str], sizes: Sequence[int]
) -> dict[str, Any]:
    """Return, for each size, the seconds of reading, preparing and replaying, and the most memory held."""
    rows = []
    for requests in sizes:
        trace = files.parquet(pressure, requests)
        row = run_child("replaying", "--trace", trace, "--policies", *policies)
        rows.append(row | {"file_bytes": trace.stat().st_size})
        trace.unlink()
        slowest_s = max(replay["wall_s"] for replay in row["replays"])
        print(
            f"  {pressure.name}, {requests:,} requests: read {row['reading']['wall_s']:.1f} s, prepared "
            f"{row['preparing']['wall_s']:.1f} s, slowest replay {slowest_s:.1f} s, {row['peak_memory_mib']:,} MiB",
            flush=True,
        )
    return {**dataclasses.asdict(pressure), "sizes": rows}


def measure_reading(files: TraceFiles, pressure: Pressure, requests: int) -> list[dict[str, Any]]:
    """Return how long the same trace takes to be read from either kind of file."""
    parquet = files.parquet(pressure, requests)
    return [_reading(path) for path in (parquet, files.json_lines(parquet))]


def _reading(path: Path) -> dict[str, Any]:
    row = run_child("replaying", "--trace", path, "--policies")
    print(f"  {path.name}: {row['reading']['wall_s']:.2f} s", flush=True)
    kept = {name: row[name] for name in ("requests", "reading", "peak_memory_mib")}
    return {"kind": path.suffix.removeprefix("."), "file_bytes": path.stat().st_size, **kept}

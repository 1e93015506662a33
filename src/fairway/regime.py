"""Where a workload lies on the regime map: spread of uncached work, load, and share of hot work, under FCFS alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

from fairway.errors import InputError
from fairway.rows import read_hooks, read_requests
from fairway.traces.header import read_header

FEWEST_WAITING = 10  # below that a queue's quantiles say nothing
HOT_HIT_SHARE = 0.5  # from this share on a request's hit makes it hot


@dataclass(frozen=True)
class Regime:
    """A workload's place on the map.

    Hot work is the uncached tokens of requests whose prompt was at least half cached when they started. Where load
    times the share of hot work reaches 1, hot requests alone fill the device.
    """

    spread: float | None  # median of p95 / p5 of the waiting requests' uncached tokens; None if never enough wait
    load: float  # of the phase, in multiples of rate 1.0; median over seeds
    hot_share: float  # of the phase's uncached tokens, all seeds together


def measure_regime(fcfs_rows: Path, traces: Sequence[Path], phase: str) -> Regime:
    """Measure one phase of a workload from FCFS's rows and the headers of the traces that they are of.

    Raises:
        InputError: rows or a header are missing, or the phase is in none of them.
    """
    requests = _of_phase(read_requests(fcfs_rows), phase)
    if requests.num_rows == 0:
        raise InputError(f"no request was served in phase {phase!r}", remedy="name another phase", file=fcfs_rows)
    return Regime(
        spread=_spread(read_hooks(fcfs_rows), _spans_ns(traces, phase)),
        load=median(_load(path, phase) for path in traces),
        hot_share=_hot_share(requests),
    )


def _of_phase(requests: pa.Table, phase: str) -> pa.Table:
    rows = zip(requests["phase"].to_pylist(), requests["first_token_ns"].to_pylist(), strict=True)
    return requests.filter(pa.array([name == phase and time is not None for name, time in rows], type=pa.bool_()))


def _spread(hooks: pa.Table, spans_ns: Mapping[int, tuple[int, int]]) -> float | None:
    columns = [hooks[name].to_pylist() for name in ("seed", "now_ns", "waiting", "uncached_p5", "uncached_p95")]
    ratios = [
        high / max(1, low)
        for seed, now_ns, waiting, low, high in zip(*columns, strict=True)
        if waiting >= FEWEST_WAITING and seed in spans_ns and spans_ns[seed][0] <= now_ns < spans_ns[seed][1]
    ]
    return median(ratios) if ratios else None


def _hot_share(requests: pa.Table) -> float:
    hot = total = 0
    for prompt, hit in zip(requests["prompt_tokens"].to_pylist(), requests["hit_tokens"].to_pylist(), strict=True):
        total += prompt - hit
        hot += prompt - hit if hit >= HOT_HIT_SHARE * prompt else 0
    return hot / total


def _spans_ns(traces: Sequence[Path], phase: str) -> dict[int, tuple[int, int]]:
    found = {}
    for path in traces:
        header = _header(path)
        span = _phase(header, phase, path)
        found[int(header["seed"])] = (int(span["start_ns"]), int(span["end_ns"]))
    return found


def _load(path: Path, phase: str) -> float:
    header = _header(path)
    rate_1_per_s = header["parameters"]["calibration"]["rate_1_per_s"]
    return float(_phase(header, phase, path)["rate_per_s"] / rate_1_per_s)


def _header(path: Path) -> Mapping[str, Any]:
    header = read_header(path)
    if header is None or "rate_1_per_s" not in header.get("parameters", {}).get("calibration", {}):
        raise InputError("the trace has no header with a calibrated rate", remedy="build it again", file=path)
    return header


def _phase(header: Mapping[str, Any], phase: str, path: Path) -> Mapping[str, Any]:
    for span in header["parameters"]["phases"]:
        if span["name"] == phase:
            return dict(span)
    raise InputError(f"the trace has no phase {phase!r}", remedy="name one of its phases", file=path)

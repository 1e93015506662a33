"""Simulated beside measured: the same trace, the same policy, and how far repeats of the measurement lie apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fairway.errors import InputError
from fairway.rows import order_statistic, read_requests, read_runs

TOLERANCES = {"p50": 0.05, "p99": 0.10, "hit rate": 0.005}  # shares; the hit rate's are points
WARM_UP = "warm-up"
_NS_PER_S = 1e9


@dataclass(frozen=True)
class Figures:
    """One run: TTFT in seconds after the warm-up, and the hit rate of all its prompt tokens."""

    p50_s: float
    p99_s: float
    hit_rate: float

    def named(self) -> Mapping[str, float]:
        """Return the figures under the names of their tolerances."""
        return {"p50": self.p50_s, "p99": self.p99_s, "hit rate": self.hit_rate}


def figures(folder: Path) -> Figures:
    """Return the figures of one folder of rows; raises `InputError` if nothing in it was served after the warm-up."""
    rows = read_requests(folder).to_pydict()
    ttft_ns = _column(
        first - arrival
        for first, arrival, phase in zip(rows["first_token_ns"], rows["arrival_ns"], rows["phase"], strict=True)
        if first is not None and phase != WARM_UP
    )
    if not len(ttft_ns):
        raise InputError("nothing was served after the warm-up", file=folder, remedy="measure a longer trace")
    runs = read_runs(folder).to_pydict()
    return Figures(
        order_statistic(ttft_ns, 50) / _NS_PER_S,
        order_statistic(ttft_ns, 99) / _NS_PER_S,
        sum(runs["hit_tokens"]) / sum(runs["prompt_tokens"]),
    )


def compare(workload: str, policy: str, simulated: Path, measured: Sequence[Path]) -> list[dict[str, Any]]:
    """Return a row a figure: simulated, the measurements' median, lowest and highest, and whether they agree.

    Raises:
        InputError: rows are missing, or measured rows are not of the simulated traces.
    """
    said = figures(simulated).named()
    for folder in measured:
        _refuse_other_traces(simulated, folder)
    repeats = [figures(folder).named() for folder in measured]
    rows = []
    for name, simulated_value in said.items():
        values = [one[name] for one in repeats]
        middle = float(np.median(values))
        difference = simulated_value - middle if name == "hit rate" else simulated_value / middle - 1
        rows.append(
            {
                "workload": workload,
                "policy": policy,
                "figure": name,
                "simulated": simulated_value,
                "measured": middle,
                "lowest": min(values),
                "highest": max(values),
                "repeats": len(values),
                "difference": difference,
                "tolerance": TOLERANCES[name],
                "agrees": abs(difference) <= TOLERANCES[name],
            }
        )
    return rows


def _refuse_other_traces(simulated: Path, measured: Path) -> None:
    traces = [sorted(read_runs(folder).to_pydict()["trace_sha256"]) for folder in (simulated, measured)]
    if traces[0] != traces[1]:
        raise InputError(
            f"was measured on other traces than those simulated in {simulated}",
            file=measured,
            remedy="simulate and measure the same traces",
        )


def _column(values: Any) -> npt.NDArray[np.int64]:
    return np.array(list(values), dtype=np.int64)

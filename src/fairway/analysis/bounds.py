"""What no policy can beat, over the same selections of requests as the metrics.

``bound-request`` is each request's least time on an idle device; so its percentiles are below those of any policy.
``bound-mean`` is the mean of a schedule that always runs the job with the least work left and may interrupt it: no
schedule of these jobs on one device has a lower mean. Both suppose a cache that never forgets and that holds, from the
start, whatever two requests share: they lie far below what can be reached.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairway import jsontext
from fairway.analysis.metrics import NS_PER_S, Selection
from fairway.analysis.results import Array, Result
from fairway.errors import InputError
from fairway.files import is_sealed
from fairway.rows import order_statistic

REMEDY = "run scripts/compute_bounds.py on the traces that were replayed"


@dataclass(frozen=True, eq=False)
class LeastWork:
    """Of each request of one trace, in its order: time of a shared device, and least time alone on one, in ns."""

    size_ns: Array
    least_ns: Array


@dataclass(frozen=True)
class BoundsRow:
    """The bounds over some of a workload's served requests after the warm-up."""

    workload: str
    phase: str
    prompts: str
    kind: str
    requests: int
    mean_bound_mean_s: float
    request_bound_p50_s: float
    request_bound_p95_s: float
    request_bound_p99_s: float
    request_bound_worst_s: float  # the maximum over seeds
    request_bound_mean_s: float
    seeds: int
    distinct: int | None = None  # requests of a recorded trace whose windows are replayed several times


def read_bounds(path: Path) -> dict[int, LeastWork]:
    """Read one workload's bounds, by seed; InputError if the file is missing or none."""
    try:
        document = jsontext.parse(path.read_text(encoding="utf-8"))
        if not is_sealed(document):
            raise InputError("was edited after it was written", file=path, remedy=REMEDY)
        seeds = document["seeds"]
        return {
            int(seed): LeastWork(
                np.array(columns["size_ns"], dtype=np.int64), np.array(columns["least_ns"], dtype=np.int64)
            )
            for seed, columns in seeds.items()
        }
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path, remedy=REMEDY) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError("is no file of bounds", file=path, remedy=REMEDY) from error


def bounds_row(result: Result, bounds: Mapping[int, LeastWork], selection: Selection) -> BoundsRow:
    """Return the bounds over a selection, which must not be empty; any policy's result says which requests there are.

    Raises:
        InputError: the bounds are of other traces.
    """
    parts = [_select(result, bounds, selection, seed) for seed in result.seeds]
    least_ns = np.concatenate([part.least_ns for _, part in parts])
    flow_ns = sum(least_total_flow_ns(arrival_ns.tolist(), part.size_ns.tolist()) for arrival_ns, part in parts)
    return BoundsRow(
        workload=result.workload,
        phase=selection.phase or "all",
        prompts=selection.prompts or "all",
        kind=selection.kind or "all",
        requests=len(least_ns),
        mean_bound_mean_s=flow_ns / len(least_ns) / NS_PER_S,
        request_bound_p50_s=order_statistic(least_ns, 50) / NS_PER_S,
        request_bound_p95_s=order_statistic(least_ns, 95) / NS_PER_S,
        request_bound_p99_s=order_statistic(least_ns, 99) / NS_PER_S,
        request_bound_worst_s=int(least_ns.max()) / NS_PER_S,
        request_bound_mean_s=int(least_ns.sum()) / len(least_ns) / NS_PER_S,
        seeds=len(result.seeds),
        distinct=result.distinct(selection.served(result)),
    )


def least_total_flow_ns(arrival_ns: Sequence[int], size_ns: Sequence[int]) -> int:
    """Return the least sum of times from arrival to completion, over all schedules of these jobs on one device.

    Arrivals must not decrease. It is that of shortest remaining first with interruption (Schrage, "A proof of the
    optimality of the shortest remaining processing time discipline", Operations Research 16, 1968).
    """
    left: list[tuple[int, int]] = []  # work left, arrival
    total_ns = now_ns = 0
    for index, (arrival, size) in enumerate(zip(arrival_ns, size_ns, strict=True)):
        now_ns = max(now_ns, arrival)
        heapq.heappush(left, (size, arrival))
        until_ns = arrival_ns[index + 1] if index + 1 < len(arrival_ns) else None
        while left and (until_ns is None or now_ns < until_ns):
            work, came = heapq.heappop(left)
            if until_ns is not None and now_ns + work > until_ns:
                heapq.heappush(left, (work - (until_ns - now_ns), came))
                now_ns = until_ns
                break
            now_ns += work
            total_ns += now_ns - came
    return total_ns


def _select(
    result: Result, bounds: Mapping[int, LeastWork], selection: Selection, seed: int
) -> tuple[Array, LeastWork]:
    """Return arrivals and least work of one seed's selected, served requests."""
    requests = result.requests
    of_seed = requests["seed"] == seed
    if seed not in bounds or int(requests["request"][of_seed].max()) >= len(bounds[seed].size_ns):
        raise InputError(f"the bounds of {result.workload} lack requests of seed {seed}", remedy=REMEDY)
    chosen = of_seed & selection.served(result)
    places = requests["request"][chosen]
    return requests["arrival_ns"][chosen], LeastWork(bounds[seed].size_ns[places], bounds[seed].least_ns[places])

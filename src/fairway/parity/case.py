"""One case: requests with aborts, and the sizes of an engine. On disk it is a trace in Mooncake's format."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fairway.engine import Limits
from fairway.errors import InputError
from fairway.traces import Trace, read_trace, write_trace

NS_PER_US = 1_000
BLOCK_TOKENS = 16  # of the ids in a case's trace


class Arrival(NamedTuple):
    """One request; ``block_ids`` has one id for each started block of 16 tokens."""

    arrival_us: int
    prompt_tokens: int
    output_tokens: int
    block_ids: tuple[int, ...]
    abort_us: int | None = None  # an instant, not a duration


@dataclass(frozen=True)
class Case:
    """Requests in order of arrival, for an engine of these sizes."""

    limits: Limits
    arrivals: tuple[Arrival, ...]

    def aborts_ns(self) -> list[tuple[int, int]]:
        """Return (instant, request) of every abort, in order of time."""
        listed = enumerate(self.arrivals)
        return sorted((one.abort_us * NS_PER_US, request) for request, one in listed if one.abort_us is not None)

    def trace(self) -> Trace:
        """Return the requests as a trace."""
        columns = list(zip(*self.arrivals, strict=True))
        arrival_us, prompt_tokens, output_tokens = (np.array(column, dtype=np.int64) for column in columns[:3])
        runs = columns[3]
        return Trace(
            arrival_ns=arrival_us * NS_PER_US,
            prompt_tokens=prompt_tokens,
            output_tokens=output_tokens,
            block_ids=np.array([block_id for run in runs for block_id in run], dtype=np.int64),
            block_offsets=np.cumsum([0, *map(len, runs)], dtype=np.int64),
            block_tokens=BLOCK_TOKENS,
            kind=("",) * len(runs),
            phase=("",) * len(runs),
        )


def write_case(case: Case, policy: str, path: Path) -> None:
    """Write a case as a trace; its header holds the policy, the sizes and the aborts."""
    aborts_us = {str(request): instant_ns // NS_PER_US for instant_ns, request in case.aborts_ns()}
    parameters = {"policy": policy, **asdict(case.limits), "aborts_us": aborts_us}
    write_trace(replace(case.trace(), header={"parameters": parameters}), path)


def read_case(path: Path) -> tuple[Case, str]:
    """Read what `write_case` wrote; InputError if the file is no such trace."""
    trace = read_trace(path)
    try:
        parameters = dict(trace.header["parameters"])
        policy, aborts_us = str(parameters.pop("policy")), dict(parameters.pop("aborts_us"))
        limits = Limits(**parameters)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"the header describes no case of a comparison ({error})",
            remedy="give a trace that check_parity.py wrote",
            file=path,
        ) from error
    return Case(limits, tuple(_arrivals(trace, aborts_us))), policy


def _arrivals(trace: Trace, aborts_us: dict[str, int]) -> list[Arrival]:
    offsets, ids = trace.block_offsets.tolist(), trace.block_ids.tolist()
    return [
        Arrival(
            arrival_us=int(trace.arrival_ns[request]) // NS_PER_US,
            prompt_tokens=int(trace.prompt_tokens[request]),
            output_tokens=int(trace.output_tokens[request]),
            block_ids=tuple(ids[offsets[request] : offsets[request + 1]]),
            abort_us=aborts_us.get(str(request)),
        )
        for request in range(len(trace))
    ]

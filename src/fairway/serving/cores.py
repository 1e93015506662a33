"""Which cores a CPU's engine computes on, and which are left to its HTTP server and to the client.

Processes that wander take each other's core for a millisecond at a time. vLLM itself binds threads only where its model
has a process of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psutil

_ENGINE = "VLLM::EngineCor"  # as vLLM names the process, in the 15 characters that Linux keeps


def engine_cores() -> list[int]:
    """Return the cores that compute: those that the caller chose for OpenMP, else all but the first one."""
    chosen = os.environ.get("VLLM_CPU_OMP_THREADS_BIND", "")
    if chosen and chosen.replace(",", "").isdigit():
        return sorted(map(int, chosen.split(",")))
    cores = sorted(os.sched_getaffinity(0))
    return cores[1:] or cores


def other_cores() -> list[int]:
    """Return the cores that are left; those of the engine if there are no others."""
    return sorted(os.sched_getaffinity(0) - set(engine_cores())) or engine_cores()


def keep_apart(server_pid: int) -> None:
    """Give the engine of a running server the cores that compute, and all else of it the others."""
    server = psutil.Process(server_pid)
    for process in (server, *server.children(recursive=True)):
        _keep_to(process, engine_cores() if process.name().startswith(_ENGINE) else other_cores())


@contextmanager
def beside_the_engine() -> Iterator[None]:
    """Inside, this thread leaves the cores that compute to the engine."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, other_cores())
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _keep_to(process: psutil.Process, cores: Sequence[int]) -> None:
    for thread in process.threads():
        try:
            os.sched_setaffinity(thread.id, cores)
        except ProcessLookupError:  # it has ended
            continue

"""The profile of the engine at hand: plan, measure, split, write it down with everything that it rests on."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fairway.engine import Limits
from fairway.errors import InputError
from fairway.measuring.fit import NS_PER_MS, Parts, Sample, attention_fit, linear_fit, residuals, split
from fairway.measuring.plan import REFERENCE, Chunks, Grid, checks, fitting, generates, order, points
from fairway.profile.reader import FORMAT, MEASUREMENT, profile_from

Report = Callable[[float], None]


class TimedEngine(Protocol):
    """What a profile is taken of."""

    def step_ns(self, chunks: Sequence[tuple[int, int]]) -> int:
        """Run one step of exactly these chunks of (new, prefix) tokens; return its time."""

    def generation_ns(self, prefixes: Sequence[int]) -> int:
        """Run a step in which requests behind these contexts go on to generate a token each; return its time."""


@dataclass(frozen=True)
class Origin:
    """What a measured profile says of its making."""

    name: str
    device: str
    model: str
    versions: Mapping[str, str]
    settings: Mapping[str, Any]
    date: str
    commit: str


def take_profile(
    engine: TimedEngine, grid: Grid, limits: Limits, origin: Origin, seed: int, report: Report
) -> dict[str, Any]:
    """Measure a profile; return its document, with the samples and what they say of the measurement.

    Steps come in random order, each as often as the grid says, after a warm-up. Random steps off the grid are measured
    too and not fitted: their residuals are those of the model. A step of one token each is timed where the requests
    only go on to generate, as on a server: they are in the engine already, and their contexts have just been read.
    """
    grid = fitting(grid, limits.budget_tokens, limits.usable_tokens)
    fitted = points(grid, limits.usable_tokens)
    held_out = checks(grid, limits.usable_tokens, limits.block_tokens, seed)
    steps = order([*fitted, *held_out], grid.repeats, seed)
    for _ in range(grid.warm_up_steps):
        engine.step_ns(REFERENCE)
    times: dict[Chunks, list[int]] = {}
    reference_ns: list[int] = []
    for place, chunks in enumerate(steps):
        step_ns = _step_ns(engine, chunks)
        (reference_ns if chunks is REFERENCE else times.setdefault(chunks, [])).append(step_ns)
        report((place + 1) / len(steps))
    samples = {chunks: Sample(chunks, tuple(found)) for chunks, found in times.items()}
    parts = split([samples[chunks] for chunks in fitted], grid)
    document = _document(grid, parts, origin)
    measurement: dict[str, Any] = {
        "versions": dict(origin.versions),
        "settings": dict(origin.settings),
        "date": origin.date,
        "commit": origin.commit,
        "grid": asdict(grid),
        "seed": seed,
        "fit_is_best": parts.is_best,
        "drift": _drift(reference_ns),
    }
    document[MEASUREMENT] = measurement
    profile = profile_from(document, origin.name)
    measurement["fitted"] = residuals([samples[chunks] for chunks in fitted], profile)
    measurement["held_out"] = residuals([samples[chunks] for chunks in held_out], profile)
    return document


def _step_ns(engine: TimedEngine, chunks: Chunks) -> int:
    return engine.generation_ns([prefix for _, prefix in chunks]) if generates(chunks) else engine.step_ns(chunks)


def unfinished_fit(document: Mapping[str, Any]) -> str:
    """Say that the fit of a profile's document stopped early, and what to do; nothing where it did not."""
    if document[MEASUREMENT]["fit_is_best"]:
        return ""
    return (
        "the fit ended before it was the closest to the measured steps. Remedy: look at the residuals, and measure "
        "with more --repeats where they are large"
    )


def _document(grid: Grid, parts: Parts, origin: Origin) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "name": origin.name,
        "device": origin.device,
        "model": origin.model,
        "evidence": "measured",
        "source": f"Measured on {origin.date}: median of {grid.repeats} repeats a step, in random order.",
        "efficiency": 1.0,
        "linear": {
            "fit": linear_fit(grid, parts),
            "table": {"tokens": list(grid.new_tokens), "ms": parts.linear_ms.tolist()},
        },
        "attention": {
            "fit": attention_fit(grid, parts),
            "table": {
                "new_tokens": list(grid.new_tokens),
                "prefix_tokens": list(grid.prefix_tokens),
                "ms": parts.attention_ms.tolist(),
            },
        },
    }


def _drift(reference_ns: Sequence[int]) -> dict[str, float]:
    """Return the reference step's median in the first and in the last third, and their ratio."""
    third = max(1, len(reference_ns) // 3)
    first, last = np.median(reference_ns[:third]), np.median(reference_ns[-third:])
    return {
        "first_third_ms": float(first) / NS_PER_MS,
        "last_third_ms": float(last) / NS_PER_MS,
        "ratio": float(last / first),
    }


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of Python and of those packages that are installed."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def device_of(kind: str) -> str:
    """Return what the device of that kind ("cpu" or "cuda") is called."""
    return gpu_name() if kind == "cuda" else processor_name()


def gpu_name() -> str:
    """Return the first GPU's name and driver as `nvidia-smi` gives them; raises `InputError` where there is none."""
    command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError) as error:
        raise InputError(f"no GPU answers: {error}", remedy="check that nvidia-smi runs") from error
    name, _, driver = lines[0].partition(", ")
    return f"{name}, driver {driver}"


def processor_name() -> str:
    """Return what the machine calls its processor, with the number of cores."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return f"{name or platform.processor() or platform.machine()}, {os.cpu_count()} cores"

"""A day of measuring: what is profiled and run on which device, in which order, and how long that takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fairway.engine import EVENTS, refuse_unsupported
from fairway.errors import InputError
from fairway.policies import make_policy
from fairway.traces.settings import settings
from fairway.traces.workload import FloodWorkload, Workload, load_workload
from fairway.yamlfile import read_yaml

_S_PER_H = 3600.0
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_TAKEN = {"claims", "profile"}  # what the workflow calls its table of answers, and what it measures first
_CPU_BLOCK_TOKENS = 32  # of which vLLM's attention on a CPU wants whole multiples
_MOST = 10**6


@dataclass(frozen=True)
class ProfileSettings:
    """The profile that everything else rests on; ``cache_blocks`` hold its contexts, it may take ``seconds``."""

    name: str
    cache_blocks: int
    most_context: int
    repeats: int
    seed: int
    seconds: int


@dataclass(frozen=True)
class EngineSettings:
    """Limits of a step, in vLLM's terms."""

    budget_tokens: int
    max_num_seqs: int
    block_tokens: int


@dataclass(frozen=True)
class Seeds:
    """The seeds first, first + 1, ..."""

    first: int
    count: int

    @property
    def all(self) -> tuple[int, ...]:
        """Every seed."""
        return tuple(range(self.first, self.first + self.count))


@dataclass(frozen=True)
class Stage:
    """Workloads, as files, each under each policy."""

    name: str
    workloads: tuple[str, ...]
    policies: tuple[str, ...]


@dataclass(frozen=True)
class StandIn:
    """A workload that is measured in place of one of the paper's."""

    stands_for: str
    workload: str


@dataclass(frozen=True)
class Day:
    """What a configuration of measurements says.

    About how long a server takes: ``start_s`` to start, ``drain_s`` from a trace's last arrival to its last token, with
    the lone requests before. ``stand_ins`` are asked what the claims ask of the paper's workloads.
    """

    device: Literal["cpu", "cuda"]
    model: str
    profile: ProfileSettings
    engine: EngineSettings
    corpus_seed: int
    seeds: Seeds
    repeats: int
    start_s: int
    drain_s: int
    stages: tuple[Stage, ...]
    stand_ins: tuple[StandIn, ...] = ()

    def __post_init__(self) -> None:
        self._refuse_numbers()
        if not re.fullmatch(_NAME, self.profile.name):
            raise ValueError(f"profile.name is {self.profile.name!r}: it has letters, digits, '.', '_' and '-'")
        names = [stage.name for stage in self.stages]
        if not names or len(set(names)) < len(names) or not all(re.fullmatch(_NAME, name) for name in names):
            raise ValueError("stages must each have a name of its own, of letters, digits, '.', '_' and '-'")
        if taken := _TAKEN & set(names):
            raise ValueError(f"no stage may be named {', '.join(sorted(taken))}: what the workflow makes is called so")
        if any(len(set(stage.policies)) < len(stage.policies) for stage in self.stages):
            raise ValueError("a stage names a policy twice")
        if not all(stage.workloads and stage.policies for stage in self.stages):
            raise ValueError("each stage must have workloads and policies")
        files = [file for stage in self.stages for file in stage.workloads]
        if len({Path(file).stem for file in files}) < len(files):
            raise ValueError("a workload stands in two stages")
        if self.engine.budget_tokens < self.engine.max_num_seqs:
            raise ValueError("engine.budget_tokens is below engine.max_num_seqs, which vLLM refuses")
        if self.device == "cpu" and self.engine.block_tokens % _CPU_BLOCK_TOKENS:
            raise ValueError(f"engine.block_tokens must be a multiple of {_CPU_BLOCK_TOKENS} on a CPU")
        unknown = {one.workload for one in self.stand_ins} - {Path(file).stem for file in files}
        if unknown:
            raise ValueError(f"stand_ins has {', '.join(sorted(unknown))}, which no stage measures")

    def _refuse_numbers(self) -> None:
        profile, engine = self.profile, self.engine
        least_1 = {
            "repeats": self.repeats,
            "seeds.count": self.seeds.count,
            "profile.cache_blocks": profile.cache_blocks,
            "profile.repeats": profile.repeats,
            "profile.seconds": profile.seconds,
            "engine.budget_tokens": engine.budget_tokens,
            "engine.max_num_seqs": engine.max_num_seqs,
            "engine.block_tokens": engine.block_tokens,
        }
        least_0 = {
            "seeds.first": self.seeds.first,
            "profile.most_context": profile.most_context,
            "profile.seed": profile.seed,
            "corpus_seed": self.corpus_seed,
            "start_s": self.start_s,
            "drain_s": self.drain_s,
        }
        for least, numbers in ((1, least_1), (0, least_0)):
            for name, number in numbers.items():
                if number < least:
                    raise ValueError(f"{name} is {number}, and must be at least {least}")
                if number > _MOST:
                    raise ValueError(f"{name} is {number}, and must be at most {_MOST}")

    def file_of(self, workload: str) -> str:
        """Return the file of a workload's name."""
        return next(file for stage in self.stages for file in stage.workloads if Path(file).stem == workload)


@dataclass(frozen=True)
class Cost:
    """About how long a part of a day takes on the device."""

    what: str
    runs: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.what:<40} {self.runs:>4} runs {self.seconds / _S_PER_H:>7.2f} h"


def load_day(file: Path, root: Path) -> Day:
    """Read a configuration of measurements; workloads are relative to ``root``.

    Raises:
        InputError: with file and line; also an unknown policy or a workload that cannot be read.
    """
    day = settings(Day, read_yaml(file))
    for stage in day.stages:
        for policy in stage.policies:
            refuse_unsupported(make_policy(policy), EVENTS)
        for workload in stage.workloads:
            if not (root / workload).is_file():
                raise InputError(f"there is no workload {workload}", remedy="give files of config/workloads", file=file)
    return day


def costs(day: Day, root: Path) -> Iterator[Cost]:
    """Yield what the parts of a day take, in their order."""
    yield Cost("profile (at most)", 1, day.profile.seconds)
    for stage in day.stages:
        for file in stage.workloads:
            workload = load_workload(root / file)
            runs = len(stage.policies) * day.seeds.count * day.repeats
            # Servers stay up side by side on a CPU; each seed asks for a cache of its own.
            starts = len(stage.policies) if day.device == "cpu" and day.seeds.count == 1 else runs
            seconds = runs * (trace_seconds(workload) + day.drain_s) + starts * day.start_s
            yield Cost(f"{stage.name}: {workload.name}", runs, seconds)


def budget(day: Day, root: Path) -> str:
    """Return the costs as lines, with their sum and what comes first."""
    listed = list(costs(day, root))
    total = Cost("all", sum(cost.runs for cost in listed), sum(cost.seconds for cost in listed))
    return "\n".join(["Time on the device, about:", *map(str, listed), str(total)])


def trace_seconds(workload: Workload) -> int:
    """Return how long a workload's arrivals last."""
    if isinstance(workload, FloodWorkload):
        return workload.warmup.seconds + int(workload.hits.delay_s) + workload.hits.seconds
    lengths_s = [phase.seconds for phase in workload.phases if not isinstance(phase.seconds, str)]
    if len(lengths_s) < len(workload.phases):
        raise InputError(
            f"a phase of {workload.name!r} lasts as long as a recorded trace", remedy="give its seconds as a number"
        )
    return sum(lengths_s)

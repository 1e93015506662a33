"""Workloads: what a trace is generated from, one settings file each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from fairway.errors import InputError
from fairway.traces.agents import MooncakeContent
from fairway.traces.mixed import MixedContent
from fairway.traces.musique import MusiqueContent
from fairway.traces.ranges import Range
from fairway.traces.sec import SecContent
from fairway.traces.settings import settings
from fairway.yamlfile import YamlFile, read_yaml

CALIBRATED = "calibrated"
REST = "rest"


@dataclass(frozen=True)
class Phase:
    """A stretch of time with one load, in multiples of rate 1.0 or found by calibration.

    One of ``seconds: rest`` lasts until a recorded trace's window is used up. Phases consume the seed's request
    sequence; those with an ``added_exponent`` of popularity a second one.
    """

    name: str
    load: float | str
    seconds: int | str
    added_exponent: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.seconds, str) and self.seconds != REST:
            raise ValueError(f"seconds is {self.seconds!r}, neither a number nor {REST!r}")
        if not isinstance(self.seconds, str) and self.seconds < 1:
            raise ValueError(f"a phase of {self.seconds} s")
        if isinstance(self.load, str) and self.load != CALIBRATED:
            raise ValueError(f"load is {self.load!r}, neither a number nor {CALIBRATED!r}")
        if not isinstance(self.load, str) and not (math.isfinite(self.load) and self.load > 0):
            raise ValueError(f"load is {self.load}")
        if not 0 <= self.added_exponent <= 10:
            raise ValueError(f"added_exponent is {self.added_exponent}")


@dataclass(frozen=True)
class CacheRule:
    """Cache size from the first requests: a share of the blocks used twice or more, within bounds."""

    share: float
    headroom_blocks: int  # above the largest prompt, at least
    highest_blocks: int

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ValueError(f"share is {self.share}")
        if self.headroom_blocks < 1 or self.highest_blocks <= self.headroom_blocks:
            raise ValueError("headroom_blocks must be at least 1 and below highest_blocks")


@dataclass(frozen=True)
class MedianTarget:
    """What the load of the calibrated phase is bisected for: FCFS's median TTFT over that phase's arrivals."""

    median_s: float
    tolerance_s: float
    lowest_load: float
    highest_load: float
    iterations: int

    def __post_init__(self) -> None:
        if not 0 < self.tolerance_s < self.median_s:
            raise ValueError("tolerance_s must be above 0 and below median_s")
        if not 0 < self.lowest_load < self.highest_load < math.inf:
            raise ValueError("lowest_load must be above 0 and below highest_load")
        if self.iterations < 1:
            raise ValueError(f"iterations is {self.iterations}")


@dataclass(frozen=True)
class SeedRule:
    """Seed ``s`` is replaced by ``s + stride``, ``s + 2 stride``, ... where it cannot be calibrated."""

    stride: int
    replacements: int

    def __post_init__(self) -> None:
        if self.stride < 1 or self.replacements < 0:
            raise ValueError("stride must be at least 1, replacements at least 0")


Content = SecContent | MixedContent | MusiqueContent | MooncakeContent
AS_ASKED = SeedRule(stride=1, replacements=0)


@dataclass(frozen=True)
class PhasedWorkload:
    """Requests in phases of different load."""

    name: str
    family: str
    output_tokens: int
    content: Content
    phases: tuple[Phase, ...]
    reference_requests: int  # of the sequence's beginning, for cache size and rate 1.0
    cache: CacheRule
    target: MedianTarget | None = None  # goes with a phase of calibrated load
    seeds: SeedRule = AS_ASKED

    def __post_init__(self) -> None:
        names = [phase.name for phase in self.phases]
        if not names or len(set(names)) != len(names):
            raise ValueError("there is no phase, or two have the same name")
        calibrated = [phase.load for phase in self.phases].count(CALIBRATED)
        if calibrated != (0 if self.target is None else 1):
            raise ValueError(f"exactly one phase must have the load {CALIBRATED!r} if there is a target, else none")
        if any(phase.seconds == REST for phase in self.phases[:-1]):
            raise ValueError(f"only the last phase can be of {REST!r}")
        added = {phase.added_exponent for phase in self.phases} - {0.0}
        if len(added) > 1 or (added and not self.content.has_popularity):
            raise ValueError("added_exponent must be the same in all phases that have it, and needs a popularity")
        if self.output_tokens < 1 or self.reference_requests < 1:
            raise ValueError("output_tokens and reference_requests must be at least 1")

    @property
    def corpus(self) -> str:
        """Name of the corpus that the requests are made of."""
        return self.content.corpus

    @property
    def calibrated_phase(self) -> str | None:
        """Name of the phase whose load calibration finds, if there is one."""
        return next((phase.name for phase in self.phases if phase.load == CALIBRATED), None)


@dataclass(frozen=True)
class Warmup:
    """Units asked once before everything else, so that the hits find them cached."""

    units: int
    unit_tokens: Range  # of a unit's prompt without its question: whole excerpts that fit into this range
    seconds: int  # until the first miss

    def __post_init__(self) -> None:
        if self.units < 1 or self.seconds < 1:
            raise ValueError("units and seconds must be at least 1")


@dataclass(frozen=True)
class Misses:
    """Prompts that nobody shares, arriving evenly."""

    requests: int
    seconds: int
    prompt_tokens: Range

    def __post_init__(self) -> None:
        if self.requests < 1 or self.seconds < 1:
            raise ValueError("requests and seconds must be at least 1")


@dataclass(frozen=True)
class Hits:
    """Questions about the warmed units, each unit as likely."""

    delay_s: int  # after the first miss
    seconds: int
    question_tokens: Range
    load: float  # in multiples of FCFS's rate for these hits alone
    first_guess_requests: int
    settled_share: float  # the number of hits is found once it changes by no more than this share
    iterations: int

    def __post_init__(self) -> None:
        if min(self.delay_s, self.seconds, self.first_guess_requests, self.iterations) < 1:
            raise ValueError("delay_s, seconds, first_guess_requests and iterations must be at least 1")
        if not 0 <= self.settled_share < 1:
            raise ValueError(f"settled_share is {self.settled_share}")
        if not 0 < self.load < math.inf:
            raise ValueError(f"load is {self.load}")


@dataclass(frozen=True)
class FloodWorkload:
    """A few misses, overtaken by a flood of hits."""

    name: str
    family: str
    output_tokens: int
    system_tokens: int
    cache_blocks: int
    warmup: Warmup
    misses: Misses
    hits: Hits
    seeds: SeedRule

    def __post_init__(self) -> None:
        if self.output_tokens < 1 or self.system_tokens < 0 or self.cache_blocks < 2:
            raise ValueError("output_tokens must be at least 1, system_tokens at least 0, cache_blocks at least 2")
        if self.misses.prompt_tokens.lowest <= self.system_tokens:
            raise ValueError("misses.prompt_tokens must exceed system_tokens")

    @property
    def corpus(self) -> str:
        """Name of the corpus that the requests are made of."""
        return SecContent.corpus


Workload = PhasedWorkload | FloodWorkload
FAMILIES: dict[str, type[PhasedWorkload] | type[FloodWorkload]] = {"phased": PhasedWorkload, "flood": FloodWorkload}


def load_workload(path: Path) -> Workload:
    """Read a workload's settings file, named ``<name>.yaml``.

    Raises:
        InputError: with file and line, for an unknown or missing key, a wrong type or a value out of range.
    """
    source = read_yaml(path)
    workload = workload_of(source)
    if workload.name != path.stem:
        raise InputError(
            f"the workload {workload.name!r} stands in a file of another name",
            remedy=f"rename the file to {workload.name}.yaml, or change the name",
            file=path,
            line=source.lines[("name",)],
        )
    return workload


def workload_of(source: YamlFile) -> Workload:
    """Return the workload that settings describe; raises as `load_workload` does."""
    family = source.values.get("family")
    if not isinstance(family, str) or family not in FAMILIES:
        file, line = source.place(("family",))
        raise InputError(f"family is {family!r}", remedy=f"give one of: {', '.join(FAMILIES)}", file=file, line=line)
    return settings(FAMILIES[family], source)


def sec_content(path: Path) -> SecContent:
    """Return the questions of a workload about filings.

    Raises:
        InputError: as `load_workload`, or the workload asks no such questions.
    """
    workload = load_workload(path)
    if isinstance(workload, PhasedWorkload) and isinstance(workload.content, SecContent):
        return workload.content
    raise InputError("this workload asks no questions about filings", remedy="name one of content 'sec'", file=path)

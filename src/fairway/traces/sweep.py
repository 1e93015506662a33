"""The sweep: random configurations of one workload over the inputs that its source leaves free."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairway.errors import InputError
from fairway.traces.ranges import Range
from fairway.traces.sec import SecContent
from fairway.traces.settings import settings
from fairway.traces.streams import stream
from fairway.traces.workload import Phase, PhasedWorkload, load_workload
from fairway.yamlfile import read_yaml


@dataclass(frozen=True)
class Span:
    """Numbers ``lowest..highest``, drawn evenly and rounded to hundredths."""

    lowest: float
    highest: float

    def __post_init__(self) -> None:
        if not 0 <= self.lowest <= self.highest < math.inf:
            raise ValueError(f"{self.lowest}..{self.highest} is not a range of numbers from 0 on")

    def draw(self, uniform: float) -> float:
        """Turn a uniform number of [0, 1) into one of this range."""
        return round(self.lowest + uniform * (self.highest - self.lowest), 2)


@dataclass(frozen=True)
class Sweep:
    """How many configurations of which workload, and the range of each free input."""

    base: str
    configurations: int
    seed: int
    units: Range
    popularity_exponent: Span
    spike_concentration: Span  # exponent added in the calibrated phase
    fewest_excerpts: Range  # ends of the range of a unit's usual number
    most_excerpts: Range
    shortest_question_tokens: Range
    longest_question_tokens: Range
    usual_share: Span
    cache_share: Span
    base_load: Span
    base_load_phases: tuple[str, ...]
    gap_phase: str
    gap_seconds: Span  # below 1: no gap

    def __post_init__(self) -> None:
        if self.configurations < 1 or self.seed < 0:
            raise ValueError("configurations must be at least 1, seed at least 0")
        if self.fewest_excerpts.highest > self.most_excerpts.lowest:
            raise ValueError("fewest_excerpts must not exceed most_excerpts")
        if self.shortest_question_tokens.highest > self.longest_question_tokens.lowest:
            raise ValueError("shortest_question_tokens must not exceed longest_question_tokens")
        if self.usual_share.highest > 1 or not 0 < self.cache_share.lowest <= self.cache_share.highest <= 1:
            raise ValueError("usual_share and cache_share must be shares, cache_share above 0")

    def name(self, number: int) -> str:
        """Return the name of one configuration, numbered from 1 on."""
        return f"sweep-{number:0{len(str(self.configurations))}}"

    def names(self) -> list[str]:
        """Return the names of all configurations."""
        return [self.name(number) for number in range(1, self.configurations + 1)]


def load_sweep(path: Path) -> Sweep:
    """Read the sweep's settings file.

    Raises:
        InputError: with file and line, as for workloads.
    """
    return settings(Sweep, read_yaml(path))


def base_file(path: Path, sweep: Sweep) -> Path:
    """Return the file of the workload that the sweep in ``path`` varies."""
    return path.parent / "workloads" / f"{sweep.base}.yaml"


def swept_workload(path: Path, number: int) -> PhasedWorkload:
    """Return one configuration of the sweep in ``path``; others neither shift nor change it.

    Raises:
        InputError: there is no such number, or the sweep does not suit its base.
    """
    sweep = load_sweep(path)
    if not 1 <= number <= sweep.configurations:
        raise InputError(f"there is no configuration {number}", remedy=f"give 1 to {sweep.configurations}", file=path)
    base = load_workload(base_file(path, sweep))
    if not isinstance(base, PhasedWorkload) or not isinstance(base.content, SecContent):
        raise InputError(f"{sweep.base} asks no questions about filings in phases", remedy="change base", file=path)
    known = {phase.name for phase in base.phases}
    for name in (*sweep.base_load_phases, sweep.gap_phase):
        if name not in known:
            raise InputError(f"{sweep.base} has no phase {name!r}", remedy="change the phase's name", file=path)
    try:
        return _drawn(base, base.content, sweep, number)
    except ValueError as error:
        raise InputError(f"configuration {number}: {error}", remedy="change the ranges", file=path) from error


def _drawn(base: PhasedWorkload, content: SecContent, sweep: Sweep, number: int) -> PhasedWorkload:
    uniforms = stream(sweep.seed, f"configuration {number}")
    return dataclasses.replace(
        base,
        name=sweep.name(number),
        content=_content(content, sweep, uniforms),
        phases=_phases(base, sweep, uniforms),
        cache=dataclasses.replace(base.cache, share=sweep.cache_share.draw(uniforms.random())),
    )


def _content(content: SecContent, sweep: Sweep, uniforms: np.random.Generator) -> SecContent:
    usual_share = sweep.usual_share.draw(uniforms.random())
    return dataclasses.replace(
        content,
        units=_whole(sweep.units, uniforms),
        popularity_exponent=sweep.popularity_exponent.draw(uniforms.random()),
        usual_excerpts=Range(_whole(sweep.fewest_excerpts, uniforms), _whole(sweep.most_excerpts, uniforms)),
        question_tokens=Range(
            _whole(sweep.shortest_question_tokens, uniforms), _whole(sweep.longest_question_tokens, uniforms)
        ),
        usual_share=usual_share,
        fewer_share=round((1 - usual_share) / 2, 3),
    )


def _phases(base: PhasedWorkload, sweep: Sweep, uniforms: np.random.Generator) -> tuple[Phase, ...]:
    load = sweep.base_load.draw(uniforms.random())
    concentration = sweep.spike_concentration.draw(uniforms.random())
    gap_seconds = int(sweep.gap_seconds.draw(uniforms.random()))
    phases = []
    for phase in base.phases:
        if phase.name in sweep.base_load_phases:
            phase = dataclasses.replace(phase, load=load)
        if phase.name == base.calibrated_phase:
            phase = dataclasses.replace(phase, added_exponent=concentration)
        if phase.name != sweep.gap_phase:
            phases.append(phase)
        elif gap_seconds:
            phases.append(dataclasses.replace(phase, seconds=gap_seconds))
    return tuple(phases)


def _whole(numbers: Range, uniforms: np.random.Generator) -> int:
    return int(numbers.scale(uniforms.random(1))[0])

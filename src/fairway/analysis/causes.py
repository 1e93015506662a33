"""Why claims do not hold: two sentences each, with figures that an experiment measured; they decide nothing."""

from __future__ import annotations

import dataclasses
import json
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from fairway.analysis import metrics, wording
from fairway.analysis.bootstrap import FloatArray, IntArray, interval
from fairway.analysis.expressions import Expression, ExpressionError, Function
from fairway.analysis.metrics import EVERYTHING
from fairway.analysis.results import Result
from fairway.analysis.study import Study
from fairway.analysis.tables import Document, read_table
from fairway.errors import InputError
from fairway.files import sha256
from fairway.yamlfile import KeyPath, YamlFile, read_yaml

_SCHEMA = Path(__file__).with_name("causes.schema.json")
_REMEDY = "correct it; the head of the file says what a cause is"
_SAMPLE = "sample"
_MEASURED_KEYS = frozenset({"configuration", "configuration_sha256", "expressions", "figures", "sample", "evidence"})


@dataclass(frozen=True)
class Measure:
    """One figure of an experiment: an expression of the claims file, asked on a workload."""

    expression: str
    workload: str


@dataclass(frozen=True)
class Cause:
    """Why one claim does not hold, as the file of causes says it."""

    claim: str
    says: tuple[str, ...]  # {name} is a figure, {name.low} and {name.high} its interval's ends, {sample} the seeds
    configuration: Path  # what the experiment runs
    figures: Mapping[str, Measure]

    @property
    def expressions(self) -> dict[str, dict[str, str]]:
        """The figures' expressions as they are kept beside what was measured."""
        return {name: dataclasses.asdict(measure) for name, measure in self.figures.items()}


@dataclass(frozen=True)
class KnownCause:
    """A cause in words, its figures put in, and the experiment that found it."""

    claim: str
    says: str
    configuration: str
    sample: str
    evidence: str


def read_causes(path: Path, claims: Sequence[str]) -> tuple[Cause, ...]:
    """Read the causes of some of these claims.

    Raises:
        InputError: with file and line, for a form that the schema does not allow, an unknown claim, two causes of one
            claim, or a sentence with a figure that is not listed.
    """
    source = read_yaml(path)
    error = best_match(Draft202012Validator(json.loads(_SCHEMA.read_text(encoding="utf-8"))).iter_errors(source.values))
    if error is not None:
        raise _fault(source, tuple(error.absolute_path), error.message)
    causes = tuple(_cause(raw) for raw in source.values["causes"])
    for place, cause in enumerate(causes):
        if cause.claim not in claims:
            raise _fault(source, ("causes", place, "claim"), f"no claim is called {cause.claim!r}")
        if cause.claim in [other.claim for other in causes[:place]]:
            raise _fault(source, ("causes", place, "claim"), f"two causes of {cause.claim!r}")
        unknown = [name for sentence in cause.says for name in _unknown_placeholders(sentence, cause.figures)]
        if unknown:
            raise _fault(source, ("causes", place, "says"), f"no figure is called {unknown[0]!r}")
    return causes


def known_causes(path: Path, measured: Path, claims: Sequence[str], root: Path) -> tuple[KnownCause, ...]:
    """Read the causes and put in their figures, from ``<claim>.json`` in ``measured``.

    ``root`` is where their configurations lie.

    Raises:
        InputError: as `read_causes` does; a cause was not measured, or what was measured was edited, or configuration
            or expressions have changed since.
    """
    return tuple(_known(cause, measured / f"{cause.claim}.json", root) for cause in read_causes(path, claims))


def measured_document(cause: Cause, root: Path, study: Study) -> Document:
    """Evaluate a cause's figures on the results of its experiment; ``root`` is where its configuration lies.

    Raises:
        InputError: a result that an expression asks for is missing, or it is no expression.
    """
    figures = {name: _measure(study, cause, name, measure) for name, measure in cause.figures.items()}
    results = study.collection.listed
    return {
        "configuration": cause.configuration.as_posix(),
        "configuration_sha256": sha256(root / cause.configuration),
        "expressions": cause.expressions,
        "figures": figures,
        "sample": min(results, key=lambda result: len(set(result.blocks))).sample,
        "evidence": "; ".join(dict.fromkeys(f"{result.rests_on} ({result.profile})" for result in results)),
    }


def _known(cause: Cause, measured: Path, root: Path) -> KnownCause:
    remedy = f"make causes CONFIG={cause.configuration.as_posix()}"
    found = read_table(measured, _MEASURED_KEYS, remedy, remedy)
    if found["expressions"] != cause.expressions or found["configuration"] != cause.configuration.as_posix():
        raise InputError("was measured for another cause", remedy=remedy, file=measured)
    if found["configuration_sha256"] != sha256(root / cause.configuration):
        raise InputError(f"was measured before {cause.configuration} changed", remedy=remedy, file=measured)
    words = {name: _Words.of(name, figure) for name, figure in found["figures"].items()}
    says = " ".join(sentence.format(**words, sample=found["sample"]) for sentence in cause.says)
    return KnownCause(cause.claim, says, found["configuration"], found["sample"], found["evidence"])


def _cause(raw: Mapping[str, Any]) -> Cause:
    figures = {name: Measure(**measure) for name, measure in raw["figures"].items()}
    return Cause(raw["claim"], tuple(raw["says"]), Path(raw["configuration"]), figures)


@dataclass(frozen=True)
class _Words:
    """One figure as sentences say it."""

    point: str
    low: str
    high: str

    @classmethod
    def of(cls, name: str, figure: Mapping[str, float]) -> _Words:
        return cls(*(wording.amount(name, figure[value]) for value in ("point", "low", "high")))

    def __str__(self) -> str:
        return self.point


def _unknown_placeholders(sentence: str, figures: Mapping[str, Measure]) -> list[str]:
    names = [name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None]
    return [name for name in names if name != _SAMPLE and re.sub(r"\.(low|high)$", "", name) not in figures]


def _fault(source: YamlFile, path: KeyPath, problem: str) -> InputError:
    file, line = source.place(path)
    return InputError(problem, remedy=_REMEDY, file=file, line=line)


def _measure(study: Study, cause: Cause, name: str, measure: Measure) -> dict[str, float]:
    trail = study.vocabulary.follow()
    functions = {**study.functions(measure.workload), **_more_functions(study, measure.workload)}
    try:
        value = Expression(measure.expression).evaluate(study.claims.names, functions)
    except ExpressionError as error:
        raise InputError(f"figure {name} of {cause.claim}: {error}", remedy=_REMEDY) from error
    if trail.missing:
        lacking = wording.needs(sorted(trail.missing))
        raise InputError(
            f"figure {name} of {cause.claim} needs {lacking}", remedy=f"add it to {cause.configuration}, or ask another"
        )
    vector = np.broadcast_to(np.asarray(value, dtype=np.float64), (study.resampling.resamples + 1,))
    return dataclasses.asdict(interval(vector, study.resampling, study.vocabulary.runs(measure.workload)))


def _more_functions(study: Study, workload: str) -> dict[str, Function]:
    """Functions that no claim asks, but that say why."""

    def of(name: str, compute: Callable[[Result, IntArray], FloatArray]) -> Function:
        return lambda policy, on=None: study.vocabulary.measure(on or workload, policy, name, compute)

    return {
        "hit_rate": of("hit rate", lambda result, counts: metrics.hit_rate(result, EVERYTHING, counts)),
        "busy_share": of("busy share", metrics.busy_share),
    }

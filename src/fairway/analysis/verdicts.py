"""Decides each claim from the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairway.analysis.bootstrap import Resampling, finite, interval
from fairway.analysis.claims import KINDS, Claim, ClaimsFile, Item
from fairway.analysis.collection import Key
from fairway.analysis.expressions import Value
from fairway.analysis.inputs import Inputs
from fairway.analysis.metrics import EVERYTHING, BoolArray, refused
from fairway.analysis.results import EVERY_ROW
from fairway.analysis.vocabulary import Trail, Vocabulary
from fairway.rows import Move

HOLDS = "holds"
IN_PART = "holds in part"
DOES_NOT_HOLD = "does not hold"
CANNOT_BE_ASKED = "cannot be asked with these inputs"
WITHOUT_VERDICT = "shown without verdict"
MISSING = "missing"
VERDICTS = (HOLDS, IN_PART, DOES_NOT_HOLD, WITHOUT_VERDICT, CANNOT_BE_ASKED, MISSING)

UNHELD = (IN_PART, DOES_NOT_HOLD)  # verdicts that want a cause

SHARE_TO_HOLD = 0.975  # share of resamples in which all checks are true together
EXACT = "exact"  # the evidence of what no run shows
FULL_SEEDS = 20  # fewer make a verdict indicative
_MEASURED = "measured"


@dataclass(frozen=True)
class CheckOutcome:
    """One check on one workload ("" for one asked once); without values where its inputs are not there."""

    check: str
    workload: str
    point: bool | None
    share: float | None  # of resamples in which it is true
    left: float | None  # point estimates, for a plain comparison
    sign: str
    right: float | None


@dataclass(frozen=True)
class Figure:
    """One of our figures beside the paper's, with its bootstrap interval."""

    name: str
    workload: str
    point: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class SweepShare:
    """In what share of the sweep's configurations all checks are true, or why that is not known."""

    share: float | None
    detail: str


@dataclass(frozen=True)
class Edit:
    """A result that was changed after it was written."""

    result: str
    files: tuple[str, ...]
    moved: tuple[Move, ...]


@dataclass(frozen=True)
class Answer:
    """A claim's line in the table."""

    id: str
    kind: str
    says: str
    paper: Mapping[str, object]
    note: str
    verdict: str
    indicative: bool
    evidence: str
    sample: str  # seeds, or windows of a recorded trace, behind the least of its results
    requests: int
    refused: int  # requests that no latency counts, over all policies and workloads used
    checks: tuple[CheckOutcome, ...]
    figures: tuple[Figure, ...]
    sweep: SweepShare
    missing: tuple[str, ...]
    absent: tuple[str, ...]
    edits: tuple[Edit, ...]
    detail: str  # what the exact checks found
    cases: int  # in which they looked
    distinct: int | None = None  # requests, if a recorded trace's were replayed several times


def answer_claims(claims: ClaimsFile, inputs: Inputs, resampling: Resampling) -> tuple[Answer, ...]:
    """Answer every claim of the file, in its order."""
    judge = _Judge(claims, inputs, resampling)
    return tuple(judge.answer(claim) for claim in claims.claims)


class _Judge:
    def __init__(self, claims: ClaimsFile, inputs: Inputs, resampling: Resampling) -> None:
        self._claims = claims
        self._inputs = inputs
        self._resampling = resampling
        self._vocabulary = Vocabulary(
            claims.terms,
            inputs.results,
            {name: check.holds for name, check in inputs.exact.items()},
            resampling,
            absent=inputs.absent,
            exact_absent=inputs.exact_absent,
        )

    def answer(self, claim: Claim) -> Answer:
        trail = Trail()
        decided = [
            [self._decide(claim, item, workload, trail) for workload in item.workloads or ("",)]
            for item in claim.checks
        ]
        figures = [
            figure
            for name, item in claim.shows.items()
            for workload in item.workloads or ("",)
            if (figure := self._figure(claim, name, item, workload)) is not None
        ]
        keys = sorted(trail.used)
        return Answer(
            id=claim.id,
            kind=KINDS[claim.kind],
            says=claim.says,
            paper=claim.paper,
            note=claim.note,
            verdict=self._verdict(claim, decided, trail),
            indicative=0 < self._blocks(keys) < FULL_SEEDS,
            evidence=self._evidence(trail),
            sample=self._sample(keys),
            requests=self._requests(keys),
            refused=self._refused(keys),
            checks=tuple(outcome for outcomes in decided for outcome, _ in outcomes),
            figures=tuple(figures),
            sweep=self._sweep_share(claim),
            missing=tuple(sorted(trail.missing)),
            absent=tuple(sorted(trail.absent)),
            edits=(
                *(self._edit(key) for key in keys if key in self._inputs.edits),
                *(exact_edits(self._inputs) if trail.exact else ()),
            ),
            detail="; ".join(self._inputs.exact[name].detail for name in sorted(trail.exact)),
            cases=sum(self._inputs.exact[name].cases for name in sorted(trail.exact)),
            distinct=self._distinct(keys),
        )

    def _decide(self, claim: Claim, item: Item, workload: str, total: Trail) -> tuple[CheckOutcome, BoolArray | None]:
        trail = self._vocabulary.follow()
        truth = self._truth(self._evaluate(claim, item, workload))
        _add(total, trail)
        if trail.missing or trail.absent:
            return CheckOutcome(item.expression.text, workload, None, None, None, "", None), None
        left, sign, right = self._sides(claim, item, workload)
        share = int(truth[1:].sum()) / len(truth[1:])
        return CheckOutcome(item.expression.text, workload, bool(truth[0]), share, left, sign, right), truth

    def _verdict(
        self, claim: Claim, decided: Sequence[Sequence[tuple[CheckOutcome, BoolArray | None]]], trail: Trail
    ) -> str:
        if trail.absent:
            return MISSING
        if trail.missing:
            return CANNOT_BE_ASKED
        if claim.kind == "absolute" and not self._all_measured(trail):
            return WITHOUT_VERDICT
        by_check = [np.all([truth for _, truth in outcomes if truth is not None], axis=0) for outcomes in decided]
        together = np.all(by_check, axis=0)
        if int(together[1:].sum()) >= SHARE_TO_HOLD * len(together[1:]):
            return HOLDS
        return IN_PART if any(truth[0] for truth in by_check) else DOES_NOT_HOLD

    def _evaluate(self, claim: Claim, item: Item, workload: str) -> Value:
        return item.expression.evaluate(self._claims.scope(claim), self._vocabulary.functions(workload or None))

    def _truth(self, value: Value) -> BoolArray:
        return np.broadcast_to(np.asarray(value, dtype=bool), (self._resampling.resamples + 1,))

    def _sides(self, claim: Claim, item: Item, workload: str) -> tuple[float | None, str, float | None]:
        sides = item.expression.sides(self._claims.scope(claim), self._vocabulary.functions(workload or None))
        if sides is None:
            return None, "", None
        left, sign, right = sides
        return _point(left), sign, _point(right)

    def _figure(self, claim: Claim, name: str, item: Item, workload: str) -> Figure | None:
        trail = self._vocabulary.follow()
        value = self._evaluate(claim, item, workload)
        if trail.missing or trail.absent:
            return None
        vector = np.broadcast_to(np.asarray(value, dtype=np.float64), (self._resampling.resamples + 1,))
        bounds = interval(vector, self._resampling, self._blocks(sorted(trail.used)))
        return Figure(name, workload, bounds.point, finite(bounds.low), finite(bounds.high))

    def _sweep_share(self, claim: Claim) -> SweepShare:
        if not claim.in_sweep:
            return SweepShare(None, "one configuration cannot be asked")
        trail = Trail()
        held = 0
        for workload in self._claims.sweep:
            outcomes = [self._decide(claim, item, workload, trail)[0] for item in claim.checks]
            held += all(outcome.point for outcome in outcomes)
        if trail.missing or trail.absent:
            return SweepShare(None, CANNOT_BE_ASKED)
        return SweepShare(held / len(self._claims.sweep), f"{len(self._claims.sweep)} configurations")

    def _evidence(self, trail: Trail) -> str:
        kinds = {self._inputs.results[key].evidence for key in trail.used}
        if trail.exact:
            kinds.add(EXACT)
        return "; ".join(sorted(kinds)) or "none"

    def _all_measured(self, trail: Trail) -> bool:
        return all(self._inputs.results[key].profile_evidence == _MEASURED for key in trail.used)

    def _blocks(self, keys: Sequence[Key]) -> int:
        """How many independent runs the smallest result has."""
        return min((self._inputs.results[key].runs_count for key in keys), default=0)

    def _sample(self, keys: Sequence[Key]) -> str:
        results = [self._inputs.results[key] for key in keys]
        return min(results, key=lambda result: result.runs_count).sample if results else ""

    def _refused(self, keys: Sequence[Key]) -> int:
        return sum(refused(self._inputs.results[key], EVERYTHING) for key in keys)

    def _requests(self, keys: Sequence[Key]) -> int:
        """Requests after the warm-up; the policies of one workload serve the same ones."""
        by_workload = {key[0]: len(self._inputs.results[key].requests["seed"]) for key in keys}
        return sum(by_workload.values())

    def _distinct(self, keys: Sequence[Key]) -> int | None:
        """Different ones of those requests, workload by workload, or None where no window is repeated."""
        results = {key[0]: self._inputs.results[key] for key in keys}.values()
        if not any(result.repeats_windows for result in results):
            return None
        return sum(result.distinct(EVERY_ROW) or len(result.requests["seed"]) for result in results)

    def _edit(self, key: Key) -> Edit:
        check = self._inputs.edits[key]
        return Edit("/".join(key), check.edited, check.moved)


def exact_edits(inputs: Inputs) -> tuple[Edit, ...]:
    """Say whether and how the outcomes of the exact checks were changed after they were written."""
    check = inputs.exact_edit
    return (Edit("the exact checks", check.edited, check.moved),) if check.edited else ()


def _add(total: Trail, part: Trail) -> None:
    total.used |= part.used
    total.missing |= part.missing
    total.absent |= part.absent
    total.exact |= part.exact


def _point(value: Value) -> float | None:
    return finite(float(np.asarray(value).flat[0]))

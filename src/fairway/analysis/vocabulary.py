"""The functions that checks may call: each gives one vector over resamples.

Every function takes a policy (or a group of them) and, as ``on``, the workload; without ``on`` it is the workload that
the check is being decided on. Latencies are in seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from fairway.analysis import metrics
from fairway.analysis.bootstrap import BETTER, WORSE, Draws, FloatArray, IntArray, Resampling, compare
from fairway.analysis.collection import Key
from fairway.analysis.expressions import ExpressionError, Function
from fairway.analysis.metrics import STARVING_WORST_OVER_P99, BoolArray, Selection, TtftPool
from fairway.analysis.results import Result

ALL_PHASES = "all"
_CORRELATIONS = {"arrival": "arrival_correlation", "lpm": "lpm_correlation"}
_PROMPTS = ("short", "long")
_WHERE = ("phase", "kind", "prompts", "on")


@dataclass(frozen=True)
class Terms:
    """The names that checks may use."""

    workloads: tuple[str, ...]
    policies: tuple[str, ...]
    default_phase: Mapping[str, str]  # workload -> the phase that percentiles are over unless a check names one


@dataclass
class Trail:
    """What evaluating one expression touched."""

    used: set[Key] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)  # never asked for in this configuration
    absent: set[str] = field(default_factory=set)  # asked for, but not on disk
    exact: set[str] = field(default_factory=set)


class Vocabulary:
    """All functions over a set of results; what is not there evaluates to NaN and is noted in ``trail``."""

    def __init__(
        self,
        terms: Terms,
        results: Mapping[Key, Result],
        exact: Mapping[str, bool],
        resampling: Resampling,
        *,
        absent: Mapping[Key, str],
        exact_absent: str,
    ) -> None:
        self._terms = terms
        self._results = results
        self._exact = exact
        self._absent = absent
        self._exact_absent = exact_absent
        self._resampling = resampling
        self._draws: dict[tuple[int, ...], Draws] = {}
        self._known: dict[tuple[Any, ...], FloatArray] = {}
        self.trail = Trail()

    def follow(self) -> Trail:
        """Start a new trail and return it."""
        self.trail = Trail()
        return self.trail

    def draws(self, result: Result) -> Draws:
        """The resamples of a result's seeds, shared by all results with as many: this is what pairs them."""
        kinds = list(dict.fromkeys(result.blocks))
        form = tuple(kinds.index(block) for block in result.blocks)
        if form not in self._draws:
            self._draws[form] = Draws.of(form, self._resampling)
        return self._draws[form]

    def functions(self, workload: str | None) -> Mapping[str, Function]:
        """The functions, deciding on ``workload``; without one each call has to say ``on``."""
        scope = _Scope(self, workload)
        return {
            "p50": scope.p50,
            "p95": scope.p95,
            "p99": scope.p99,
            "worst": scope.worst,
            "worst_over_p99": scope.worst_over_p99,
            "best_p99": scope.best_p99,
            "best": scope.best,
            "better": scope.better,
            "worse": scope.worse,
            "correlation_with_queue": scope.correlation_with_queue,
            "uncached_spread": scope.uncached_spread,
            "partly_hit": scope.partly_hit,
            "exact": self.exact,
        }

    def exact(self, claim: str, /) -> BoolArray:
        """Whether an exact property was found to hold, the same in every resample."""
        if claim in self._exact:
            self.trail.exact.add(claim)
        elif self._exact_absent:
            self.trail.absent.add(self._exact_absent)
        else:
            self.trail.missing.add(f"exact check {claim}")
        return np.full(self._resampling.resamples + 1, self._exact.get(claim, False))

    def nothing(self) -> FloatArray:
        """The vector of what is not known."""
        return np.full(self._resampling.resamples + 1, np.nan)

    def measure(
        self, workload: str, policy: str, what: Any, compute: Callable[[Result, IntArray], FloatArray]
    ) -> FloatArray:
        """Compute, once, what ``compute`` says of a result; NaN and a note in the trail where there is none."""
        self._check_names(workload, policy)
        result = self._results.get((workload, policy))
        if result is None:
            self._note_missing(workload, policy)
            return self.nothing()
        self.trail.used.add((workload, policy))
        key = (workload, policy, what)
        if key not in self._known:
            self._known[key] = self.draws(result).apply(partial(compute, result))
        if np.isnan(self._known[key]).all():
            self.trail.missing.add(f"data for {describe(what)} on {workload}")
        return self._known[key]

    def runs(self, workload: str) -> int:
        """How many independent runs there are of a workload; the policies of one workload ran the same ones."""
        return max((result.runs_count for (name, _), result in self._results.items() if name == workload), default=0)

    def compare(self, workload: str, first: FloatArray, second: FloatArray) -> str:
        """Verdict of the paired comparison of two vectors on a workload."""
        return compare(first, second, self._resampling, self.runs(workload)).verdict

    def phase(self, workload: str, phase: str | None) -> str | None:
        """The phase that a percentile is over."""
        chosen = phase or self._terms.default_phase.get(workload, ALL_PHASES)
        return None if chosen == ALL_PHASES else chosen

    def _check_names(self, workload: str, policy: str) -> None:
        if workload not in self._terms.workloads:
            raise ExpressionError(f"unknown workload {workload}; known: {', '.join(self._terms.workloads)}")
        if policy not in self._terms.policies:
            raise ExpressionError(f"unknown policy {policy}; known: {', '.join(self._terms.policies)}")

    def _note_missing(self, workload: str, policy: str) -> None:
        """Say the shorter truth: a workload or policy that has no result at all, or this pair."""
        if (workload, policy) in self._absent:
            self.trail.absent.add(self._absent[workload, policy])
        elif all(known != workload for known, _ in self._results):
            self.trail.missing.add(f"workload {workload}")
        elif all(known != policy for _, known in self._results):
            self.trail.missing.add(f"policy {policy}")
        else:
            self.trail.missing.add(f"policy {policy} on {workload}")


def describe(what: Any) -> str:
    """Name a measured quantity in words."""
    name, detail = what if isinstance(what, tuple) else (what, None)
    parts = [detail.phase, detail.kind, detail.prompts] if isinstance(detail, Selection) else []
    return " ".join([name, *(f"({part})" for part in parts if part)])


class _Scope:
    """The functions as checks call them, on one workload unless told otherwise."""

    def __init__(self, vocabulary: Vocabulary, workload: str | None) -> None:
        self._vocabulary = vocabulary
        self._workload = workload

    def p50(self, policy: str, /, **where: str) -> FloatArray:
        return self._of_pool(policy, "p50", lambda pool, counts: pool.percentile_s(50, counts), where)

    def p95(self, policy: str, /, **where: str) -> FloatArray:
        return self._of_pool(policy, "p95", lambda pool, counts: pool.percentile_s(95, counts), where)

    def p99(self, policy: str, /, **where: str) -> FloatArray:
        return self._of_pool(policy, "p99", lambda pool, counts: pool.percentile_s(99, counts), where)

    def worst(self, policy: str, /, **where: str) -> FloatArray:
        return self._of_pool(policy, "worst", lambda pool, counts: pool.worst_s(counts), where)

    def worst_over_p99(self, policy: str, /, **where: str) -> FloatArray:
        return self._of_pool(policy, "worst over p99", lambda pool, counts: pool.worst_over_p99(counts), where)

    def best_p99(self, group: tuple[str, ...], /, **where: str) -> FloatArray:
        """Lowest p99 among those of the group that starve nobody, chosen anew in each resample; infinite if all do."""
        lowest: FloatArray = self._candidates(group, **where).min(axis=0)
        return lowest

    def best(self, group: tuple[str, ...], /, **where: str) -> FloatArray:
        """Place in the group of the policy that ``best_p99`` chooses, counted from 0."""
        place: FloatArray = self._candidates(group, **where).argmin(axis=0).astype(np.float64)
        return place

    def better(self, policy: str, /, than: tuple[str, ...], **where: str) -> FloatArray:
        return self._comparison(policy, than, BETTER, **where)

    def worse(self, policy: str, /, than: tuple[str, ...], **where: str) -> FloatArray:
        return self._comparison(policy, than, WORSE, **where)

    def correlation_with_queue(
        self, policy: str, /, order: str, waiting_at_least: int, on: str | None = None
    ) -> FloatArray:
        if order not in _CORRELATIONS:
            raise ExpressionError(f"unknown order {order}; known: {', '.join(_CORRELATIONS)}")
        return self._vocabulary.measure(
            self._on(on),
            policy,
            (f"correlation of queue length with {order}", waiting_at_least),
            lambda result, counts: metrics.correlation_with_queue(
                result, _CORRELATIONS[order], counts, waiting_at_least=waiting_at_least
            ),
        )

    def uncached_spread(self, policy: str, /, on: str | None = None) -> FloatArray:
        return self._vocabulary.measure(self._on(on), policy, "spread", metrics.uncached_spread)

    def partly_hit(self, policy: str, /, on: str | None = None) -> FloatArray:
        return self._vocabulary.measure(self._on(on), policy, "partly hit", metrics.partly_hit)

    def _on(self, on: str | None) -> str:
        workload = on or self._workload
        if workload is None:
            raise ExpressionError("a check over workloads has to say on=workload in every function")
        return workload

    def _of_pool(
        self, policy: str, name: str, of: Callable[[TtftPool, IntArray], FloatArray], where: Mapping[str, str]
    ) -> FloatArray:
        unknown = sorted(set(where) - set(_WHERE))
        if unknown:
            raise ExpressionError(f"unknown argument {unknown[0]}; known: {', '.join(_WHERE)}")
        if where.get("prompts", "short") not in _PROMPTS:
            raise ExpressionError(f"unknown prompts {where['prompts']}; known: {', '.join(_PROMPTS)}")
        workload = self._on(where.get("on"))
        phase = self._vocabulary.phase(workload, where.get("phase"))
        selection = Selection(phase, where.get("kind"), where.get("prompts"))
        return self._vocabulary.measure(
            workload, policy, (name, selection), lambda result, counts: of(TtftPool(result, selection), counts)
        )

    def _candidates(self, group: tuple[str, ...], **where: str) -> FloatArray:
        if not isinstance(group, tuple):
            raise ExpressionError(f"not a group of policies: {group}")
        p99 = np.stack([self.p99(policy, **where) for policy in group])
        worst_over_p99 = np.stack([self.worst_over_p99(policy, **where) for policy in group])
        return np.where(worst_over_p99 > STARVING_WORST_OVER_P99, np.inf, p99)

    def _comparison(self, policy: str, than: tuple[str, ...], verdict: str, **where: str) -> FloatArray:
        workload = self._on(where.get("on"))
        found = self._vocabulary.compare(workload, self.p99(policy, **where), self.best_p99(than, **where))
        return np.full_like(self._vocabulary.nothing(), found == verdict)

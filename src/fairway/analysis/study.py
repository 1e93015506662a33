"""Results seen through the names of the claims file: its groups, its sets of workloads, its functions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairway.analysis.bootstrap import Comparison, FloatArray, Interval, Resampling, compare, interval
from fairway.analysis.claims import ClaimsFile
from fairway.analysis.collection import Collection
from fairway.analysis.expressions import Function
from fairway.analysis.metrics import STARVING_WORST_OVER_P99, Selection, TtftPool, refused
from fairway.analysis.vocabulary import Vocabulary
from fairway.errors import InputError


@dataclass(frozen=True)
class Study:
    """What tables and figures ask: a claim's functions over a collection of results."""

    collection: Collection
    claims: ClaimsFile
    resampling: Resampling
    vocabulary: Vocabulary

    @classmethod
    def of(cls, collection: Collection, claims: ClaimsFile, resampling: Resampling) -> Study:
        """Study a collection; workloads and policies that the claims file does not name are welcome."""
        terms = dataclasses.replace(
            claims.terms,
            workloads=tuple(dict.fromkeys((*claims.terms.workloads, *collection.workloads))),
            policies=tuple(dict.fromkeys((*claims.terms.policies, *collection.policies))),
        )
        vocabulary = Vocabulary(terms, collection.results, {}, resampling, absent={}, exact_absent="")
        return cls(collection, claims, resampling, vocabulary)

    def functions(self, workload: str) -> Mapping[str, Function]:
        """Return the claim's functions, asked on one workload; each gives a vector over resamples."""
        return self.vocabulary.functions(workload)

    def measure(self, function: str, workload: str, policy: str, **where: str) -> Interval:
        """Return one policy's figure with its interval; NaN where there is no such result or request."""
        vector = self.functions(workload)[function](policy, **where)
        return interval(vector, self.resampling, self.vocabulary.runs(workload))

    def compare(self, workload: str, first: FloatArray, second: FloatArray) -> Comparison:
        """Compare two latencies on a workload, paired."""
        return compare(first, second, self.resampling, self.vocabulary.runs(workload))

    def group(self, name: str, workload: str) -> tuple[str, ...]:
        """Return those policies of a group that have a result on a workload."""
        return tuple(policy for policy in self.claims.names[name] if (workload, policy) in self.collection.results)

    def starves(self, workload: str, policy: str, **where: str) -> bool:
        """Say whether a policy starves requests: worst over p99 above 3 in the median seed."""
        ratio = self.functions(workload)["worst_over_p99"](policy, **where)
        return bool(np.asarray(ratio)[0] > STARVING_WORST_OVER_P99)

    def phase(self, workload: str) -> str:
        """Return the phase that percentiles on a workload are over, in words."""
        return self.selected_phase(workload) or "all after the warm-up"

    def selected_phase(self, workload: str) -> str | None:
        """Return the phase that percentiles on a workload are over; None is all after the warm-up."""
        return self.vocabulary.phase(workload, None)

    def counted(self, workload: str, policy: str) -> tuple[int, int]:
        """Return how many requests of that phase were served and how many refused."""
        result = self.collection.results[(workload, policy)]
        selection = Selection(phase=self.selected_phase(workload))
        return len(TtftPool(result, selection)), refused(result, selection)

    def is_edited(self, workload: str, policies: Sequence[str]) -> bool:
        """Say whether the result of one of these policies on a workload was changed after it was written."""
        return any(self.collection.results[(workload, policy)].edited for policy in policies)

    def check_served(self, workload: str, policy: str) -> None:
        """Raise InputError if no request of the phase that percentiles are over was served."""
        if not self.counted(workload, policy)[0]:
            raise InputError(
                f"no request was served by {policy} on {workload} ({self.phase(workload)})",
                remedy="choose a workload with that phase, longer or of a higher load",
            )

    def best(self, group: tuple[str, ...], workload: str, **where: str) -> str | None:
        """Return the policy of the lowest p99 among those that starve nobody; None if there is none."""
        functions = self.functions(workload)
        if not group or not np.isfinite(functions["best_p99"](group, **where)[0]):
            return None
        return group[int(functions["best"](group, **where)[0])]

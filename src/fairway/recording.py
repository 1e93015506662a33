"""Turns replays into rows: one a request, one a hook, one a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from fairway.policies import Policy, QueueView, checked_order
from fairway.profile import Profile
from fairway.replay import UNSERVED, Replay
from fairway.rows import REUSE_KNOWN, REUSE_UNKNOWN, SERVED, UNSERVABLE, order_statistic
from fairway.traces import Trace
from fairway.traces.description import LeftOut, left_out

FEWEST_TO_CORRELATE = 5  # below that a rank correlation says nothing
_HOOK_COLUMNS = (
    *("step", "now_ns", "waiting"),
    *(f"uncached_{name}" for name in ("min", "p5", "p50", "p95", "max")),
    *("arrival_correlation", "lpm_correlation"),
)


@dataclass(frozen=True)
class Labels:
    """What tells a run's rows apart and says what they are."""

    backend: str
    workload: str
    policy: str
    seed: int
    evidence: str
    profile: str
    profile_evidence: str
    corpus: str
    trace_sha256: str
    seed_replacements: int
    window: int | None  # of a recorded trace
    left_out: LeftOut | None  # of a recorded trace
    reuse: str

    @classmethod
    def of(
        cls, trace: Trace, policy: str, profile: Profile, backend: str, evidence: str, trace_sha256: str, place: int
    ) -> Self:
        """Take from a trace's header what it says of its workload; without a seed there, its place among the traces."""
        header = trace.header
        return cls(
            backend=backend,
            workload=str(header.get("workload", "")),
            policy=policy,
            seed=int(header.get("seed", place)),
            evidence=evidence,
            profile=profile.name,
            profile_evidence=profile.evidence,
            corpus=str(header.get("corpus_kind", "")),
            trace_sha256=trace_sha256,
            seed_replacements=int(header.get("seed_replacements", 0)),
            window=header.get("parameters", {}).get("requests", {}).get("window"),
            left_out=left_out(header),
            reuse=REUSE_KNOWN if header.get("reuse_information", True) else REUSE_UNKNOWN,
        )


class HookRecorder:
    """Observes every hook with requests waiting: how long the queue is, how its work spreads, how it is ordered."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []

    def __call__(self, step: int, view: QueueView, policy: Policy) -> None:
        """Record one hook."""
        uncached = np.sort(view.uncached_tokens)
        spread = [order_statistic(uncached, percent) for percent in (5, 50, 95)]
        self._rows.append(
            (
                step,
                view.now_ns,
                len(view),
                int(uncached[0]),
                *spread,
                int(uncached[-1]),
                *_correlations(view, policy),
            )
        )

    def columns(self) -> dict[str, list[Any]]:
        """Return what was recorded, by column."""
        return {name: [row[index] for row in self._rows] for index, name in enumerate(_HOOK_COLUMNS)}


def _correlations(view: QueueView, policy: Policy) -> tuple[float | None, float | None]:
    """Return Spearman's correlation of the policy's positions with those by arrival and by longest hit."""
    if len(view) < FEWEST_TO_CORRELATE:
        return None, None
    order = np.fromiter(checked_order(policy, view), dtype=np.int64)
    if len(order) < len(view):  # a policy may leave requests out; then its positions are no ranking of the queue
        return None, None
    by_hit = np.argsort(-view.hit_tokens, kind="stable")
    rank = _ranks(order)
    return _spearman(rank, np.arange(len(view))), _spearman(rank, _ranks(by_hit))


def _ranks(order: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return ranks


def _spearman(first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> float:
    """Return the correlation of two rankings without ties, from whole numbers: the same on every machine."""
    count = len(first)
    squares = int(((first - second) ** 2).sum())
    return 1 - 6 * squares / (count * (count * count - 1))


def request_columns(trace: Trace, result: Replay, labels: Labels) -> dict[str, Any]:
    """Return one row a request."""
    unserved = result.first_token_ns == UNSERVED
    count = len(trace)

    def served(values: npt.NDArray[np.int64]) -> list[int | None]:
        return [None if absent else value for value, absent in zip(values.tolist(), unserved.tolist(), strict=True)]

    return {
        **_result_key(labels, count),
        "seed": [labels.seed] * count,
        "request": list(range(count)),
        "kind": list(trace.kind),
        "phase": list(trace.phase),
        "arrival_ns": trace.arrival_ns.tolist(),
        "start_ns": served(result.start_ns),
        "first_token_ns": served(result.first_token_ns),
        "prompt_tokens": trace.prompt_tokens.tolist(),
        "hit_tokens": served(result.hit_tokens),
        "preemptions": result.preemptions.tolist(),
        "outcome": [UNSERVABLE if absent else SERVED for absent in unserved.tolist()],
    }


def hook_columns(hooks: HookRecorder, labels: Labels) -> dict[str, Any]:
    """Return one row a hook."""
    columns = hooks.columns()
    count = len(columns["step"])
    return {**_result_key(labels, count), "seed": [labels.seed] * count, **columns}


def run_columns(trace: Trace, result: Replay, labels: Labels, cache_blocks: int) -> dict[str, Any]:
    """Return the run's one row."""
    served = ~result.refused
    values = {
        "cache_blocks": cache_blocks,
        "requests": len(trace),
        "refused": int(result.refused.sum()),
        "steps": result.steps,
        "busy_ns": result.busy_ns,
        "end_ns": result.end_ns,
        "evicted_blocks": result.evicted_blocks,
        "prompt_tokens": int(trace.prompt_tokens[served].sum()),
        "hit_tokens": int(result.hit_tokens[served].sum()),
        "computed_tokens": result.computed_tokens,
        "extrapolated_tokens": result.extrapolated_tokens,
        "preemptions": int(result.preemptions.sum()),
    }
    return {name: [value] for name, value in (_label_columns(labels) | values).items()}


def _label_columns(labels: Labels) -> dict[str, Any]:
    values = asdict(labels)
    lost = values.pop("left_out") or {}
    return values | {
        "left_out_requests": lost.get("requests"),
        "left_out_tokens": lost.get("tokens"),
        "of_requests": lost.get("of_requests"),
        "of_tokens": lost.get("of_tokens"),
        "left_out": lost.get("reason", ""),
    }


def concatenated(tables: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Put the rows of several runs end to end, in the order given."""
    return {name: [value for table in tables for value in table[name]] for name in tables[0]}


def _result_key(labels: Labels, count: int) -> dict[str, list[str]]:
    return {name: [getattr(labels, name)] * count for name in ("workload", "policy")}

"""Turns replays into rows: one a request, one a hook, one a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from fairway.hooks import Hooks
from fairway.profile import Profile
from fairway.replay import UNSERVED, Replay
from fairway.rows import REUSE_KNOWN, REUSE_UNKNOWN, SERVED, UNSERVABLE
from fairway.traces import Trace
from fairway.traces.description import LeftOut, left_out


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


def request_columns(trace: Trace, result: Replay, labels: Labels) -> dict[str, Any]:
    """Return one row a request."""
    unserved = result.first_token_ns == UNSERVED
    count = len(trace)

    def served(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.ma.masked_array(values, mask=unserved | (values == UNSERVED))

    return {
        **_result_key(labels, count),
        "seed": np.full(count, labels.seed),
        "request": np.arange(count),
        "kind": list(trace.kind),
        "phase": list(trace.phase),
        "arrival_ns": trace.arrival_ns,
        "start_ns": served(result.start_ns),
        "first_token_ns": served(result.first_token_ns),
        "prompt_tokens": trace.prompt_tokens,
        "hit_tokens": served(result.hit_tokens),
        "preemptions": result.preemptions,
        "outcome": [UNSERVABLE if absent else SERVED for absent in unserved.tolist()],
    }


def hook_columns(hooks: Hooks, labels: Labels) -> dict[str, Any]:
    """Return one row a hook."""
    count = len(hooks.step)
    columns = {field.name: getattr(hooks, field.name) for field in fields(hooks)}
    return {**_result_key(labels, count), "seed": np.full(count, labels.seed), **columns}


def run_columns(trace: Trace, result: Replay, labels: Labels, cache_blocks: int, block_tokens: int) -> dict[str, Any]:
    """Return the run's one row."""
    served = ~result.refused
    values = {
        "cache_blocks": cache_blocks,
        "block_tokens": block_tokens,
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


def concatenated(tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Put the rows of several runs end to end, in the order given."""
    return {name: _end_to_end([table[name] for table in tables]) for name in tables[0]}


def _end_to_end(parts: list[Any]) -> Any:
    if not all(isinstance(part, np.ndarray) for part in parts):
        return [value for part in parts for value in part]
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        return np.ma.concatenate(parts)  # type: ignore[no-untyped-call]  # numpy's stubs have no types here
    return np.concatenate(parts)


def _result_key(labels: Labels, count: int) -> dict[str, list[str]]:
    return {name: [getattr(labels, name)] * count for name in ("workload", "policy")}

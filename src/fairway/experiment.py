"""One policy over the traces of one workload: replay each, write all rows together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from fairway.engine import EngineFactory, Limits, refuse_unknown_eviction
from fairway.errors import InputError
from fairway.files import sha256
from fairway.policies import ANSWER_LIMIT_S, limited_answers, make_policy
from fairway.profile import Profile
from fairway.progress import Progress
from fairway.recording import Labels, concatenated, hook_columns, request_columns, run_columns
from fairway.replay import replay
from fairway.rows import Columns, write_rows
from fairway.traces import Trace, read_trace
from fairway.traces.description import describe_trace
from fairway.traces.header import is_ours
from fairway.vllm import load_engine

EVIDENCE_OF_BACKEND = {"sim": "simulated", "vllm-virtual": "simulated"}
_ENGINE_OF_BACKEND: dict[str, Callable[[], EngineFactory | None]] = {
    "sim": lambda: None,  # the replay chooses
    "vllm-virtual": load_engine,
}


@dataclass(frozen=True)
class Experiment:
    """What is run on every trace.

    ``cache_blocks`` None takes the size that the trace's header carries; ``name``, under which the rows stand, is the
    policy's own unless its parameters make it a variant. A policy that computes for ``answer_limit_s`` without an
    answer ends the run.
    """

    policy: str
    profile: Profile
    parameters: dict[str, Any] = field(default_factory=dict)
    backend: str = "sim"
    budget_tokens: int = 2048
    max_num_seqs: int = 256
    block_tokens: int = 16
    cache_blocks: int | None = None
    name: str = ""
    eviction: str = "lru"
    answer_limit_s: float = ANSWER_LIMIT_S

    def __post_init__(self) -> None:
        if self.backend not in EVIDENCE_OF_BACKEND:
            raise InputError(
                f"unknown backend {self.backend!r}", remedy=f"choose from {', '.join(EVIDENCE_OF_BACKEND)}"
            )
        # Unknown names are refused before anything runs.
        make_policy(self.policy, **self.parameters)
        refuse_unknown_eviction(self.eviction)

    @property
    def label(self) -> str:
        """Name of the result: the one given, or the policy's with what is not its default."""
        if self.name:
            return self.name
        changed = [f"{name}={value}" for name, value in self.parameters.items()]
        return "+".join([self.policy, *changed, *([] if self.eviction == "lru" else [self.eviction])])

    def limits_for(self, trace: Trace, file: Path) -> Limits:
        """Return the engine's sizes for one trace."""
        cache_blocks = self.cache_blocks
        if cache_blocks is None:
            cache_blocks = trace.header.get("parameters", {}).get("cache_blocks")
        if cache_blocks is None:
            raise InputError("has no header that names cache_blocks", file=file, remedy="give --cache-blocks")
        return Limits(cache_blocks, self.budget_tokens, self.max_num_seqs, self.block_tokens, self.eviction)


def run_experiment(experiment: Experiment, files: Sequence[Path], folder: Path) -> list[str]:
    """Replay every trace and write the rows of all to ``folder``; nothing is written if one of them fails.

    Returns what should be known of it: what a trace without a header was read as, and every refused request.
    """
    engine = _ENGINE_OF_BACKEND[experiment.backend]()
    progress = Progress(experiment.label)
    tables: list[tuple[Columns, Columns, Columns]] = []
    remarks = []
    seen: dict[int, Labels] = {}
    for index, file in enumerate(files):
        trace = read_trace(file)
        if not is_ours(trace.header):
            remarks.append(f"{file}: {describe_trace(trace)}")
        labels = Labels.of(
            trace,
            policy=experiment.label,
            profile=experiment.profile,
            backend=experiment.backend,
            evidence=EVIDENCE_OF_BACKEND[experiment.backend],
            trace_sha256=sha256(file),
            place=index,
        )
        _refuse_mixed(labels, seen, file)
        seen[labels.seed] = labels
        limits = experiment.limits_for(trace, file)
        with limited_answers(experiment.answer_limit_s):
            result = replay(
                trace,
                make_policy(experiment.policy, **experiment.parameters),
                experiment.profile,
                limits,
                engine=engine,
                record_hooks=True,
                progress=partial(_report, progress, index, len(files)),
            )
        assert result.hooks is not None
        tables.append(
            (
                request_columns(trace, result, labels),
                hook_columns(result.hooks, labels),
                run_columns(trace, result, labels, limits.cache_blocks, limits.block_tokens),
            )
        )
        remarks += [f"refused: {file}: {message}" for message in result.refusals]
    write_rows(folder, *(concatenated(parts) for parts in zip(*tables, strict=True)))
    return remarks


def _refuse_mixed(labels: Labels, seen: Mapping[int, Labels], file: Path) -> None:
    """Refuse a trace that is not another seed of the same workload: its rows could not be told apart."""
    if labels.seed in seen:
        raise InputError(f"has seed {labels.seed}, as another of the traces", file=file, remedy="give each seed once")
    other = next(iter(seen.values()), labels)
    if labels.workload != other.workload:
        raise InputError(
            f"is of workload {labels.workload!r}, another trace of {other.workload!r}",
            file=file,
            remedy="replay one workload at a time",
        )


def _report(progress: Progress, traces_done: int, traces: int, requests_done: int, requests: int) -> None:
    progress.update((traces_done + requests_done / requests) / traces)

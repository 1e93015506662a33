"""What is watched of one trace under some policies, as the document that `recording.schema.json` describes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fairway.engine import Limits
from fairway.errors import InputError
from fairway.files import sealed, write_text
from fairway.policies import Policy, make_policy
from fairway.profile import Profile
from fairway.progress import Progress
from fairway.replay import UNSERVED, Prompts, Replay, replay
from fairway.rows import order_statistic
from fairway.traces import Trace
from fairway.watching.watch import Watch, WatchedScheduler, WatchedStep

FORMAT = 1


@dataclass(frozen=True)
class Scene:
    """What is to be watched: a trace, the phase whose requests count, and what the page says of it."""

    title: str
    about: str
    trace: Trace
    trace_sha256: str
    phase: str
    profile: Profile
    limits: Limits
    names: Sequence[str] | None = None  # of the trace's requests; None: their numbers


def record(scene: Scene, policies: Sequence[str], progress: Progress) -> dict[str, Any]:
    """Replay a scene under each policy and return the document.

    It begins with the phase and ends when the last of its requests has its first token, under whichever policy is last.

    Raises:
        InputError: the trace has no such phase, or a policy is unknown.
    """
    made = [make_policy(name) for name in policies]  # unknown names are refused before anything runs
    start_ns = _phase(scene)["start_ns"]
    prompts = Prompts.of(scene.trace, scene.profile, scene.limits)
    seen: list[tuple[Policy, Watch, Replay]] = []
    for place, policy in enumerate(made):
        watch = Watch(start_ns)
        result = replay(
            scene.trace,
            policy,
            scene.profile,
            scene.limits,
            engine=partial(WatchedScheduler, watch=watch),
            prompts=prompts,
            progress=partial(_report, progress, place, len(made)),
        )
        seen.append((policy, watch, result))
    counted = np.array([phase == scene.phase for phase in scene.trace.phase])
    end_ns = max([start_ns, *(int(result.first_token_ns[counted].max()) for _, _, result in seen)])
    runs = [_run(scene, policy, watch, result, counted, end_ns) for policy, watch, result in seen]
    return _document(scene, runs, counted, start_ns, end_ns)


def write_recording(target: Path, document: Mapping[str, Any]) -> None:
    """Write a document, sealed, on one line, atomically."""
    write_text(target, json.dumps(sealed(document), separators=(",", ":"), allow_nan=False) + "\n")


def _report(progress: Progress, runs_done: int, runs: int, requests_done: int, requests: int) -> None:
    progress.update_part(runs_done, runs, requests_done / requests)


def _phase(scene: Scene) -> Mapping[str, Any]:
    phases: list[dict[str, Any]] = scene.trace.header.get("parameters", {}).get("phases", [])
    by_name = {phase["name"]: phase for phase in phases if phase["name"] in scene.trace.phase}
    if scene.phase not in by_name:
        known = f"choose from {', '.join(by_name)}" if by_name else "give a trace whose header has phases"
        raise InputError(f"no request of phase {scene.phase!r} in the trace", remedy=known)
    return by_name[scene.phase]


def _document(
    scene: Scene, runs: list[dict[str, Any]], counted: np.ndarray[Any, Any], start_ns: int, end_ns: int
) -> dict[str, Any]:
    trace, header = scene.trace, scene.trace.header
    shown = _shown(runs)
    return {
        "format": FORMAT,
        "title": scene.title,
        "about": scene.about,
        "evidence": "simulated",
        "profile": scene.profile.name,
        "profile_evidence": scene.profile.evidence,
        "workload": str(header.get("workload", "")),
        "corpus": str(header.get("corpus_kind", "")),
        "seed": header.get("seed"),
        "trace_sha256": scene.trace_sha256,
        "budget_tokens": scene.limits.budget_tokens,
        "cache_blocks": scene.limits.cache_blocks,
        "block_tokens": scene.limits.block_tokens,
        "start_ns": start_ns,
        "end_ns": end_ns,
        "counted_phase": scene.phase,
        "counted": int(counted.sum()),
        "phases": [
            {name: phase[name] for name in ("name", "start_ns", "end_ns")} for phase in header["parameters"]["phases"]
        ],
        "requests": {
            "id": shown,
            "name": [scene.names[request] if scene.names else str(request) for request in shown],
            "kind": [trace.kind[request] for request in shown],
            "arrival_ns": trace.arrival_ns[shown].tolist(),
            "prompt_tokens": trace.prompt_tokens[shown].tolist(),
            "counted": counted[shown].astype(int).tolist(),
        },
        "runs": runs,
    }


def _shown(runs: list[dict[str, Any]]) -> list[int]:
    """Return the requests that wait or run in some step, by arrival."""
    steps = [step for run in runs for step in run["steps"]]
    waiting = {request for step in steps for request in step["waiting"]}
    return sorted(waiting | {request for step in steps for request, _ in step["chunks"]})


def _run(
    scene: Scene, policy: Policy, watch: Watch, result: Replay, counted: np.ndarray[Any, Any], end_ns: int
) -> dict[str, Any]:
    answered = np.flatnonzero(counted & (result.first_token_ns != UNSERVED))
    first_token_ns = result.first_token_ns[answered]
    ttft_ns = first_token_ns - scene.trace.arrival_ns[answered]
    return {
        "policy": policy.name,
        "refused": int(result.refused[counted].sum()),
        "steps": [
            _step(step, ttft_ns[first_token_ns <= step.end_ns]) for step in watch.steps if step.start_ns <= end_ns
        ],
    }


def _step(step: WatchedStep, ttft_ns: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return one step; ``ttft_ns`` are those of the counted requests that have their first token by its end."""
    queue = step.queue
    document: dict[str, Any] = {
        "start_ns": step.start_ns,
        "end_ns": step.end_ns,
        "waiting": queue.waiting,
        "hit_tokens": queue.hit_tokens,
        "order": queue.order,
        "chunks": step.chunks,
        "admitted": [[admission.request, admission.hit_tokens, admission.passed] for admission in step.admitted],
        "answered": len(ttft_ns),
        "p50_ns": order_statistic(ttft_ns, 50) if len(ttft_ns) else None,
        "p99_ns": order_statistic(ttft_ns, 99) if len(ttft_ns) else None,
    }
    if queue.scores is not None:
        document["scores"] = queue.scores
    if queue.turns is not None and queue.fast_lane is not None:
        document["fast_lane"] = queue.fast_lane
        document["by_fast_lane"] = [int(turn.lane == "fast") for turn in queue.turns]
        document["fast_ledger"] = [turn.fast_ledger for turn in queue.turns]
        document["fair_ledger"] = [turn.fair_ledger for turn in queue.turns]
    return document

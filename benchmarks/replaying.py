"""Replay one trace under some policies and print what each took, as JSON."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
from pathlib import Path
from typing import Any

from benchmarks.child import peak_memory_mib
from benchmarks.clock import timed
from benchmarks.load import load_of
from fairway.command import run
from fairway.engine import Limits
from fairway.policies import make_policy
from fairway.profile import load_profile
from fairway.replay import Prompts, replay
from fairway.traces import Trace, read_trace

PROFILE = "a6000-llama-3.1-8b-modelled"
CACHE_BLOCKS = 12_000
WARM_UP_REQUESTS = 100  # code is compiled or loaded, and memory touched, before anything is timed


def measure(file: Path, policies: list[str]) -> dict[str, Any]:
    """Read and prepare a trace once, then replay it under each policy; times in seconds, memory in MiB."""
    profile, limits = load_profile(PROFILE), Limits(CACHE_BLOCKS)
    importlib.import_module("fairway.traces.parquet")  # belongs to start-up, not to reading
    trace, reading = timed(lambda: read_trace(file))
    warm_up = trace.first(min(WARM_UP_REQUESTS, len(trace)))
    replay(warm_up, make_policy("fcfs"), profile, limits)
    prompts = Prompts.of(trace, profile, limits)
    _, preparing = timed(lambda: (prompts.prepared, prompts.head_ids))
    rows = []
    for name in policies:
        replay(warm_up, make_policy(name), profile, limits)
        policy = make_policy(name)
        result, taken = timed(lambda policy=policy: replay(trace, policy, profile, limits, prompts=prompts))
        load = load_of(trace.arrival_ns, result.start_ns, result.finish_ns)
        rows.append({"policy": name, **taken._asdict(), "steps": result.steps, **dataclasses.asdict(load)})
    return {
        "requests": len(trace),
        **_shape(trace),
        "reading": reading._asdict(),
        "preparing": preparing._asdict(),
        "replays": rows,
        "peak_memory_mib": peak_memory_mib(),
    }


def _shape(trace: Trace) -> dict[str, float]:
    return {
        "mean_prompt_tokens": float(trace.prompt_tokens.mean()),
        "mean_blocks": len(trace.block_ids) / len(trace),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", required=True, type=Path, help="trace to replay")
    parser.add_argument("--policies", required=True, nargs="*", help="policies to replay it under")
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.trace, arguments.policies)))
    return 0


if __name__ == "__main__":
    run(main)

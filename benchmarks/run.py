"""Measure the replay: simulated requests a second and peak memory, at low load and with a backlog.

Every case runs in a process of its own, so that its peak memory is its own. Ratios are to FCFS at the same
load in the same run.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fairway import __version__
from fairway.command import run
from fairway.engine import Limits
from fairway.files import write_json
from fairway.policies import make_policy
from fairway.profile import load_profile
from fairway.replay import Prompts, replay
from fairway.traces.arrivals import unit_arrivals
from fairway.traces.corpus import make_corpus
from fairway.traces.phased import Sequences
from fairway.traces.workload import PhasedWorkload, load_workload

ROOT = Path(__file__).resolve().parent.parent
PROFILE = "a6000-llama-3.1-8b-modelled"
WORKLOAD = ROOT / "config" / "workloads" / "sec-dynamic-a.yaml"
CACHE_BLOCKS = 12_000
SEED = 1
LOADS = {"low load": 0.6, "backlog": 3.0}  # of FCFS's rate over the first requests, all present at once
REFERENCE_REQUESTS = 600
POLICIES = ("fcfs", "lpm", "klpm-4", "ragcache", "srpt", "fairway")
NS_PER_S = 1_000_000_000


def longest_queue(arrival_ns: np.ndarray, start_ns: np.ndarray) -> int:
    """Return the most requests that had arrived and not started at one time."""
    times = np.concatenate([arrival_ns, start_ns])
    changes = np.repeat([1, -1], len(arrival_ns))
    return int(np.cumsum(changes[np.argsort(times, kind="stable")]).max())


def measure(load: float, policy: str, requests: int) -> dict[str, float | int]:
    """Replay one trace under one policy; the trace's making is not in the time."""
    workload = load_workload(WORKLOAD)
    assert isinstance(workload, PhasedWorkload)
    profile, limits = load_profile(PROFILE), Limits(CACHE_BLOCKS)
    sequences = Sequences(workload, make_corpus(SEED), SEED)
    reference = sequences.all_at_once(min(REFERENCE_REQUESTS, requests))
    rate_per_s = len(reference) / (replay(reference, make_policy("fcfs"), profile, limits).busy_ns / NS_PER_S)
    sequence = sequences.all_at_once(requests)
    arrivals_s = unit_arrivals(SEED, 2.0 * requests)[:requests] / (load * rate_per_s)
    trace = dataclasses.replace(sequence, arrival_ns=np.floor(arrivals_s * NS_PER_S).astype(np.int64))
    prompts = Prompts.of(trace, profile, limits)
    began_s = time.process_time()
    result = replay(trace, make_policy(policy), profile, limits, prompts=prompts)
    cpu_s = time.process_time() - began_s
    return {
        "cpu_s": round(cpu_s, 3),
        "requests_per_s": round(requests / cpu_s),
        "us_per_step": round(cpu_s / result.steps * 1e6, 1),
        "steps": result.steps,
        "longest_queue": longest_queue(trace.arrival_ns, result.start_ns),
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=20_000, help="requests in the trace (default 20,000)")
    parser.add_argument("--out", type=Path, help="JSON file to write besides printing")
    parser.add_argument("--case", nargs=2, metavar=("LOAD", "POLICY"), help=argparse.SUPPRESS)  # one case, this process
    arguments = parser.parse_args()
    if arguments.case:
        load, policy = arguments.case
        print(json.dumps(measure(float(load), policy, arguments.requests)))
        return 0
    cases = list(run_cases(arguments.requests))
    if arguments.out:
        machine = {"machine": platform.machine(), "python": platform.python_version(), "numpy": np.__version__}
        date = time.strftime("%Y-%m-%d", time.gmtime())
        write_json(arguments.out, {"version": __version__, "date": date, **machine, "cases": cases})
    return 0


def run_cases(requests: int) -> Iterator[dict[str, object]]:
    """Run every load under every policy, print a line each, and yield them."""
    print(f"{requests:,} requests, {CACHE_BLOCKS:,} blocks, CPU time of one core")
    print(
        f"{'load':>10} {'policy':>9} {'requests/s':>11} {'to fcfs':>8} {'us/step':>8} {'longest queue':>14} {'MiB':>6}"
    )
    for name, load in LOADS.items():
        fcfs = 0
        for policy in POLICIES:
            command = [sys.executable, __file__, "--requests", str(requests), "--case", str(load), policy]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            case = {"load": name, "policy": policy, **json.loads(done.stdout)}
            fcfs = fcfs or case["requests_per_s"]
            print(
                f"{name:>10} {policy:>9} {case['requests_per_s']:>11,} {case['requests_per_s'] / fcfs:>8.2f} "
                f"{case['us_per_step']:>8,} {case['longest_queue']:>14,} {case['peak_memory_mib']:>6,}",
                flush=True,
            )
            yield case


if __name__ == "__main__":
    run(main)

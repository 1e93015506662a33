"""Measure replays and write what was found; `make bench` calls this, and then `page`."""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.against_peer import measure_against_peer
from benchmarks.child import keep_to_one_core
from benchmarks.clock import python_loop_ms
from benchmarks.coverage import COMPILED, left_out, served
from benchmarks.growth import measure_growth, measure_reading
from benchmarks.peer import Peer
from benchmarks.start_up import measure_start_up
from benchmarks.trace_files import Pressure, TraceFiles
from fairway.command import not_negative, positive, run
from fairway.files import write_sealed
from fairway.ordering_time import machine
from fairway.policies import policy_names

BACKLOGGED_POLICY = "fairway"  # of which a backlog asks the most


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Measure replays on one core: beside aisimulate on one trace at low load and with a backlog, time "
        "and memory up to a million requests, reading, and start-up. Takes some minutes; the machine should be quiet."
    )
    parser.add_argument("--requests", type=positive, default=20_000, help="requests of the trace for both simulators")
    parser.add_argument("--waiting", type=positive, default=10_000, help="requests there at 0 in the backlog")
    parser.add_argument(
        "--policies",
        nargs="+",
        default=policy_names(),
        help="policies to measure, if the core covers them (default: all)",
    )
    parser.add_argument("--repetitions", type=positive, default=3, help="times that each is measured (default 3)")
    parser.add_argument(
        "--sizes",
        nargs="+",
        type=positive,
        default=[125_000, 250_000, 500_000, 1_000_000],
        help="requests of the growing traces",
    )
    parser.add_argument("--seed", type=not_negative, default=1, help="seed of the traces (default 1)")
    parser.add_argument(
        "--peer",
        type=Path,
        default=Path(".venv-aisimulate/bin/aisimulate"),
        help="aisimulate; without it the comparison has one side only (default: where 'make peer-env' puts it)",
    )
    parser.add_argument("--out", required=True, type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    peer = Peer(arguments.peer) if arguments.peer.exists() else None
    if peer is None:
        print(f"{arguments.peer} is not there, so nothing is compared with it. Remedy: make peer-env (550 MB).")
    policies = served(arguments.policies)
    compiled = [policy for policy, how in policies.items() if how == COMPILED]
    core = keep_to_one_core()
    loop_before_ms = python_loop_ms()
    print(f"On core {core}, a million loops of Python in {loop_before_ms:g} ms:", flush=True)
    low_load = Pressure("low load", 0.6)
    backlog = Pressure("backlog", 1.0, arguments.waiting)
    with tempfile.TemporaryDirectory() as folder:
        files = TraceFiles.of(Path(folder), arguments.seed)
        document = {
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "commit": _commit(),
            "machine": machine(),
            "seed": arguments.seed,
            "rate_1_per_s": files.rate_1_per_s,
            "policies": policies,
            "left_out": left_out(arguments.policies),
            "against_peer": measure_against_peer(
                files, peer, [low_load, backlog], list(policies), arguments.requests, arguments.repetitions
            ),
            "reading": measure_reading(files, low_load, arguments.requests),
            "growth": [
                measure_growth(files, low_load, compiled, arguments.sizes),
                measure_growth(files, backlog, [BACKLOGGED_POLICY], arguments.sizes),
            ],
            "start_up": measure_start_up(files, low_load, BACKLOGGED_POLICY, arguments.repetitions),
            "python_loop_ms": [loop_before_ms, python_loop_ms()],
        }
    write_sealed(arguments.out, document)
    return 0


def _commit() -> str:
    command = ["git", "describe", "--always", "--abbrev=12", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    run(main)

"""Tabulate the metrics of all results."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.bootstrap import Resampling
from fairway.analysis.bounds import read_bounds
from fairway.analysis.metrics_table import bounds_rows, metrics_document, metrics_rows, write_metrics
from fairway.analysis.results import read_result
from fairway.command import not_negative, positive, run


def parse() -> argparse.Namespace:
    """Describe and read the command line."""
    parser = argparse.ArgumentParser(
        description="Write metrics.csv, metrics.md and metrics.json: TTFT percentiles with bootstrap intervals, worst "
        "waits, hit rates and more, by workload, policy, phase, prompt length and kind of request."
    )
    parser.add_argument(
        "--rows-root", type=Path, required=True, help="folder of the rows, <workload>/<policy> below it"
    )
    parser.add_argument("--workloads", nargs="+", required=True, help="workloads to tabulate")
    parser.add_argument("--policies", nargs="+", required=True, help="policies to tabulate")
    parser.add_argument(
        "--resamples", type=positive, default=10_000, help="resamples of the bootstrap (default: %(default)s)"
    )
    parser.add_argument(
        "--bootstrap-seed", type=not_negative, default=1, help="seed of the bootstrap (default: %(default)s)"
    )
    parser.add_argument("--bounds-root", type=Path, help="folder of the bounds, <workload>.json (default: show none)")
    parser.add_argument("--out-dir", type=Path, required=True, help="folder for the three tables")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    resampling = Resampling(arguments.resamples, arguments.bootstrap_seed)
    results = [
        read_result(arguments.rows_root, workload, policy)
        for workload in arguments.workloads
        for policy in arguments.policies
    ]
    bounds = {
        workload: read_bounds(arguments.bounds_root / f"{workload}.json")
        for workload in arguments.workloads
        if arguments.bounds_root is not None
    }
    document = metrics_document(metrics_rows(results, resampling), resampling, bounds_rows(results, bounds))
    write_metrics(arguments.out_dir, document)
    return 0


if __name__ == "__main__":
    run(main)

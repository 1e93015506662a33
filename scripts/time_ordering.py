"""Measure how long policies take to order a waiting queue on this machine."""

from __future__ import annotations

import argparse
import csv
import dataclasses
import io
from pathlib import Path

from fairway.analysis import wording
from fairway.command import not_negative, positive, run
from fairway.files import write_sealed, write_text
from fairway.ordering_time import OrderingTime, machine, measure
from fairway.policies import policy_names


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Measure each policy's scheduling time: what it does before one step, hits given. Times are those "
        "of this machine and differ from run to run, so they belong beside the tables and not into them."
    )
    parser.add_argument("--policies", nargs="+", default=policy_names(), help="policies to measure (default: all)")
    parser.add_argument("--waiting", nargs="+", type=positive, default=[32, 128, 1024], help="queue lengths")
    parser.add_argument("--repetitions", type=positive, default=201, help="hooks to take the median of (default 201)")
    parser.add_argument("--budget-tokens", type=positive, default=2048, help="tokens a step (default 2048)")
    parser.add_argument("--seed", type=not_negative, default=1, help="seed of the random queues (default 1)")
    parser.add_argument("--out-json", required=True, type=Path, help="JSON file to write, the machine noted in it")
    parser.add_argument("--out-csv", required=True, type=Path, help="CSV file to write")
    arguments = parser.parse_args()
    times = list(
        measure(arguments.policies, arguments.waiting, arguments.repetitions, arguments.budget_tokens, arguments.seed)
    )
    write_sealed(arguments.out_json, {"machine": machine(), "rows": [dataclasses.asdict(one) for one in times]})
    write_text(arguments.out_csv, _as_csv(times))
    for one in times:
        print(f"{wording.policy(one.policy)}, {one.waiting:,} waiting: {one.median_us:.0f} us (p90 {one.p90_us:.0f})")
    return 0


def _as_csv(times: list[OrderingTime]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in dataclasses.fields(OrderingTime)], lineterminator="\n")
    writer.writeheader()
    writer.writerows({**dataclasses.asdict(one), "policy": wording.policy(one.policy)} for one in times)
    return text.getvalue()


if __name__ == "__main__":
    run(main)

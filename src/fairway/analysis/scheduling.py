"""The table of scheduling times: what policies take to order a waiting queue, as measured on some machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fairway.analysis import markdown, wording
from fairway.analysis.tables import Document, read_table
from fairway.errors import InputError

_KEYS = frozenset({"machine", "rows"})
_COLUMNS = frozenset({"policy", "waiting", "median_us", "repetitions"})
_REMEDY = "run scripts/time_ordering.py again"


def read_scheduling(path: Path) -> Document:
    """Read what ``scripts/time_ordering.py`` wrote; InputError if it is missing or another document."""
    document = read_table(path, _KEYS, _REMEDY)
    if not document["rows"] or not all(row.keys() >= _COLUMNS for row in document["rows"]):
        raise InputError(f"has no rows of {', '.join(sorted(_COLUMNS))}", remedy=_REMEDY, file=path)
    return document


def scheduling_markdown(document: Document) -> str:
    """The table: one line per policy, one column per queue length, medians in microseconds."""
    rows = document["rows"]
    lengths = sorted({int(row["waiting"]) for row in rows})
    median_us = {(row["policy"], int(row["waiting"])): float(row["median_us"]) for row in rows}
    counts = sorted({int(row["repetitions"]) for row in rows})
    head = (
        f"Time to order the waiting queue before one step, microseconds, median of {_counts(counts)} hooks; measured "
        f"on {_machine(document['machine'])}. The times are that machine's and differ from run to run."
    )
    header = ("Policy", *(f"{length:,} waiting" for length in lengths))
    policies = dict.fromkeys(row["policy"] for row in rows)
    lines = [
        (wording.policy(policy), *(_cell(median_us.get((policy, length))) for length in lengths)) for policy in policies
    ]
    return f"{head}\n\n{markdown.table(header, lines)}\n"


def _machine(machine: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in machine.items())


def _cell(median_us: float | None) -> str:
    return "-" if median_us is None else wording.number(median_us)


def _counts(counts: list[int]) -> str:
    return f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"

"""What scripts/check_parity.py does: compare, say what was found, answer with an exit status."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairway.parity.campaign import Report, run_campaign, write_found
from fairway.parity.case import read_case
from fairway.parity.compare import compare
from fairway.parity.report import write_summary

DIFFERENCE_FILE = "difference.jsonl"
FOUND = 1  # exit status at a difference


@dataclass(frozen=True)
class Extent:
    """How much is compared, and by how many processes."""

    least_steps: int
    processes: int
    chunks_folder: Path


@dataclass(frozen=True)
class Label:
    """What a summary says of its making."""

    date: str
    commit: str


def check_random_cases(extent: Extent, label: Label, folder: Path, report: Report) -> int:
    """Compare random cases, write the summary, show a difference; returns the exit status."""
    outcome = run_campaign(extent.least_steps, extent.processes, extent.chunks_folder, report)
    write_summary(outcome, folder, label.date, label.commit)
    if outcome.found is None:
        print(f"0 differences in {outcome.total().steps:,} steps. Summary: {folder / 'parity.md'}")
        return 0
    found, file = outcome.found, folder / DIFFERENCE_FILE
    write_found(found, file)
    print(f"Seed {found.seed}, policy {found.policy}; shrunk to {len(found.case.arrivals)} requests in {file}:")
    print(found.difference)
    return FOUND


def check_case(path: Path) -> int:
    """Compare one stored case; returns the exit status."""
    case, policy = read_case(path)
    comparison = compare(case, policy)
    if comparison.difference is None:
        print(f"0 differences in {comparison.counts.steps:,} steps under {policy}")
        return 0
    print(comparison.difference)
    return FOUND

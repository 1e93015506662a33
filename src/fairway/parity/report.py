"""The summary of a campaign, as JSON and as a page."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fairway.files import write_json, write_text
from fairway.parity.campaign import Outcome
from fairway.vllm.versions import installed_version

_COLUMNS = {
    "steps": "steps",
    "requests": "requests",
    "admissions": "admissions",
    "hits": "with a hit",
    "preemptions": "preemptions",
    "evictions": "evicted blocks",
    "aborts_waiting": "aborts, waiting",
    "aborts_running": "aborts, running",
    "refused": "refused",
    "longest_queue": "longest queue",
}


def versions(commit: str) -> dict[str, str]:
    """Return what was compared; ``commit`` names the state of this repository."""
    return {
        "vllm": installed_version(),
        "torch": version("torch"),
        "python": platform.python_version(),
        "fairway": commit,
    }


def write_summary(outcome: Outcome, folder: Path, date: str, commit: str) -> None:
    """Write ``parity.json`` and ``parity.md``."""
    summary = {
        "date": date,
        "versions": versions(commit),
        "seeds": outcome.seeds,
        "differences": int(outcome.found is not None),
        "total": asdict(outcome.total()),
        "policies": {policy: asdict(counts) for policy, counts in outcome.counts.items()},
    }
    write_json(folder / "parity.json", summary)
    write_text(folder / "parity.md", page(summary))


def page(summary: Mapping[str, Any]) -> str:
    """Say a summary in words and a table."""
    total, used = summary["total"], summary["versions"]
    words = (
        f"`make parity-full`, {summary['date']}: **{summary['differences']} differences** in {total['steps']:,} steps "
        f"between the readable engine and vLLM {used['vllm']}'s scheduler and KV cache manager (torch {used['torch']}, "
        f"Python {used['python']}, this repository at {used['fairway'][:12]}), in random cases of seeds 0 to "
        f"{summary['seeds'] - 1}, each under every policy.",
        "Compared at every step: the ordered (request, new tokens, context); hits at admission; who was preempted "
        "and which hashes were evicted, in order; the running list; the whole free list; the tokens and the hit of "
        f"every waiting request at the hook, by vLLM's own lookup ({total['looked_up_hits']:,} times); who finished.",
    )
    header = "| " + " | ".join(["policy", *_COLUMNS.values()]) + " |\n|" + "---|" * (len(_COLUMNS) + 1)
    rows = [_row(name, counts) for name, counts in [*summary["policies"].items(), ("**all**", total)]]
    return "\n\n".join(["# Parity with vLLM's scheduler", *words, "\n".join([header, *rows])]) + "\n"


def _row(name: str, counts: Mapping[str, int]) -> str:
    return f"| {name} | " + " | ".join(f"{counts[key]:,}" for key in _COLUMNS) + " |"

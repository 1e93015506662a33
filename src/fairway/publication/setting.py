"""What was set before a run, as the paper's tables say it: workloads, calibration, step times, parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairway import jsontext
from fairway.analysis import wording
from fairway.analysis.blocks import Block
from fairway.analysis.metrics import SHORT_PROMPT_TOKENS, STARVING_WORST_OVER_P99
from fairway.analysis.tables import Document, read_table
from fairway.analysis.verdicts import FULL_SEEDS, SHARE_TO_HOLD
from fairway.errors import InputError
from fairway.policies.fairway import FairwayParameters
from fairway.traces.agents import MooncakeContent
from fairway.traces.catalogue import Catalogue
from fairway.traces.mixed import MixedContent
from fairway.traces.musique import MusiqueContent
from fairway.traces.sec import SecContent
from fairway.traces.workload import FloodWorkload, Phase, Workload

_REMEDY = "run the workflow, which writes it"
_CALIBRATED = frozenset({"workload", "cache_blocks", "budget_tokens", "max_num_seqs", "block_tokens"})
_CHECKED = frozenset({"name", "device", "model", "evidence", "source", "prefill_preview"})
_CONTENTS = {
    SecContent: "questions about filings",
    MixedContent: "questions about short and long filings",
    MusiqueContent: "questions with their paragraphs",
    MooncakeContent: "windows of an agent trace",
}


def read_calibrations(files: Iterable[Path]) -> dict[str, list[Document]]:
    """Read calibrations, those of one workload together; InputError if one is missing or edited."""
    found: dict[str, list[Document]] = {}
    for file in files:
        calibration = read_table(file, _CALIBRATED, _REMEDY)
        found.setdefault(str(calibration["workload"]), []).append(calibration)
    return found


def read_profiles(files: Iterable[Path]) -> list[Document]:
    """Read checked profiles; InputError if one is missing."""
    return [read_table(file, _CHECKED, _REMEDY) for file in files]


def parameters(calibrations: Mapping[str, Sequence[Document]], claims: Document) -> dict[str, str]:
    """Say the run's settings, by the names that the paper's text calls them.

    Raises:
        InputError: there is no calibration.
    """
    if not calibrations:
        raise InputError("no workload was calibrated, so there is nothing to write about", remedy=_REMEDY)
    engine = next(iter(calibrations.values()))[0]
    defaults = FairwayParameters()
    return {
        **{name: f"{engine[name]:,}" for name in ("budget_tokens", "max_num_seqs", "block_tokens")},
        "fast_weight": wording.number(defaults.fast_weight),
        "patience_multiple": wording.number(defaults.patience_multiple),
        "patience_floor_s": wording.number(defaults.patience_floor_s),
        "resamples": f"{claims['resampling']['resamples']:,}",
        "confidence_pct": str(claims["resampling"]["confidence_percent"]),
        "share_to_hold_pct": wording.number(100 * SHARE_TO_HOLD),
        "full_seeds": str(FULL_SEEDS),
        "starving": str(STARVING_WORST_OVER_P99),
        "short_prompt_tokens": f"{SHORT_PROMPT_TOKENS:,}",
    }


def workloads_table(names: Sequence[str], catalogue: Catalogue) -> Block:
    """Say what each workload asks and at what load; the sweep's many configurations stand in one line."""
    swept = [name for name in names if catalogue.is_swept(name)]
    rows = [(name, *_described(catalogue.find(name).load())) for name in names if name not in swept]
    if swept:
        content, _ = _described(catalogue.find(swept[0]).load())
        rows.append((f"{len(swept)} of the sweep", content, "drawn at random"))
    return Block("table", header=("Workload", "Asks for", "Load x seconds"), rows=tuple(rows))


def calibration_table(calibrations: Mapping[str, Sequence[Document]], catalogue: Catalogue) -> Block:
    """Say what calibration found, lowest to highest over the seeds; the sweep's configurations in one line."""
    swept = [one for name, found in calibrations.items() if catalogue.is_swept(name) for one in found]
    rows = [_calibrated(name, found) for name, found in calibrations.items() if not catalogue.is_swept(name)]
    if swept:
        rows.append(_calibrated("the sweep", swept))
    header = ("Workload", "Runs", "Cache blocks", "Rate 1.0 per s", "Load of the spike", "FCFS's median s", "Replaced")
    return Block("table", header=header, rows=tuple(rows))


def profile_table(profile: Document) -> Block:
    """Say a profile's prefill times T(n, h)."""
    rows = tuple(
        (f"{row['n_tokens']:,}", f"{row['hit_tokens']:,}", wording.number(row["prefill_s"]))
        for row in profile["prefill_preview"]
    )
    return Block("table", header=("Prompt tokens", "of them cached", "Prefill s"), rows=rows)


def read_parity(file: Path) -> dict[str, str]:
    """Read the summary of the comparison with vLLM's scheduler, in words; InputError if it is none."""
    try:
        parity: Any = jsontext.parse(file.read_text(encoding="utf-8"))
        return {
            "steps": f"{parity['total']['steps']:,}",
            "differences": f"{parity['differences']:,}",
            "policies": str(len(parity["policies"])),
            "vllm": str(parity["versions"]["vllm"]),
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError("no summary of a comparison with vLLM", remedy="make parity-full", file=file) from error


def _described(workload: Workload) -> tuple[str, str]:
    if isinstance(workload, FloodWorkload):
        misses, hits = workload.misses, workload.hits
        return (
            f"{misses.requests} misses in {misses.seconds} s, then hits on {workload.warmup.units} warmed prompts",
            f"hits {wording.number(hits.load)} x {hits.seconds}",
        )
    return _CONTENTS[type(workload.content)], "; ".join(map(_phase, workload.phases))


def _phase(phase: Phase) -> str:
    load = phase.load if isinstance(phase.load, str) else wording.number(phase.load)
    return f"{phase.name} {load} x {phase.seconds}"


def _calibrated(name: str, found: Sequence[Document]) -> tuple[str, ...]:
    figures = ("cache_blocks", "rate_1_per_s", "calibrated_load", "fcfs_median_s")
    replaced = sum(bool(one.get("replaced")) for one in found)
    return (name, str(len(found)), *(_span([one.get(figure) for one in found]) for figure in figures), str(replaced))


def _span(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    ends = dict.fromkeys(map(wording.number, (min(known), max(known)))) if known else {}
    return " to ".join(ends) or "-"

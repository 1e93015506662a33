"""Simulated beside measured: p50 and p99 of TTFT by workload and policy, with the spread of the repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from fairway.analysis import wording
from fairway.analysis.figures import style

FIGURES = ("p50", "p99")


@dataclass(frozen=True)
class Layout:
    """Size of the figure."""

    width_in: float = style.PAGE_WIDTH_IN
    height_in: float = 3.0


def plot(tables: Sequence[Mapping[str, Any]], pdf: Path, svg: Path, layout: Layout | None = None) -> None:
    """Draw the tables of some stages, as scripts/compare_measured.py wrote them."""
    with style.house_style():
        style.save(draw(tables, layout or Layout()), pdf, svg)


def draw(tables: Sequence[Mapping[str, Any]], layout: Layout) -> Figure:
    """Draw a panel a workload: a measured median with its lowest and highest repeat, the simulation beside it."""
    rows = [row for table in tables for row in table["rows"] if row["figure"] in FIGURES]
    workloads = list(dict.fromkeys(row["workload"] for row in rows))
    figure = Figure(figsize=(layout.width_in, layout.height_in))
    panels = figure.subplots(1, len(workloads), squeeze=False)[0]
    for axes, workload in zip(panels, workloads, strict=True):
        here = [row for row in rows if row["workload"] == workload]
        _draw(axes, here)
        axes.set_title(f"{workload}, n = {here[0]['repeats']} repeats", fontsize=8)
        axes.set_xticks(
            range(len(here)),
            [f"{wording.policy(row['policy'])}\n{row['figure']}" for row in here],
            rotation=90,
            fontsize=7,
        )
        axes.set_xlim(-0.5, len(here) - 0.3)
        axes.set_yscale("log")
    panels[0].set_ylabel("TTFT, s")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="upper center", ncols=3)
    about = tables[0]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    said = f"measured, {about['device']}, {about['model']}; {versions}"
    edited = dict.fromkeys(f"{row['workload']}/{row['policy']}" for row in rows if row["edited"])
    if edited:
        said += f"\nEDITED after it was written: {', '.join(edited)}"
    figure.text(0.01, 0.01, said, fontsize=7, va="bottom")
    figure.subplots_adjust(left=0.08, right=0.99, top=0.82, bottom=0.3, wspace=0.22)
    for axes in panels:
        style.label_decades(axes.yaxis)
    return figure


def _draw(axes: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    places = range(len(rows))
    measured = [row["measured"] for row in rows]
    spread = [
        [row["measured"] - row["lowest"] for row in rows],
        [row["highest"] - row["measured"] for row in rows],
    ]
    axes.errorbar(places, measured, yerr=spread, fmt="o", markersize=3, linewidth=0.8, label="measured")
    for name, label, mark in (("simulated", "simulated", "D"), ("simulated_at_speed", "simulated at speed", "x")):
        axes.plot([place + 0.25 for place in places], [row[name] for row in rows], mark, markersize=4, label=label)

"""Fairway and its ablations: p99 of short and of long prompts, apart."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.typing import FillStyleType

from fairway.analysis.figures import style
from fairway.analysis.metrics import SHORT_PROMPT_TOKENS
from fairway.analysis.study import Study

_PROMPTS = {
    "short": f"Prompts of up to {SHORT_PROMPT_TOKENS:,} tokens",
    "long": f"Prompts of more than {SHORT_PROMPT_TOKENS:,} tokens",
}

_FILLS: dict[str, FillStyleType] = {
    "fairway-absolute": "left",
    "fairway-nofair": "bottom",
    "fairway-absolute-nofair": "none",
}


@dataclass(frozen=True)
class Layout:
    """Size of the figure; ``spread`` is the share of a workload's line that its policies take up."""

    width_in: float = style.PAGE_WIDTH_IN
    line_in: float = 0.46
    frame_in: float = 1.35
    spread: float = 0.72


def plot(study: Study, pdf: Path, svg: Path, layout: Layout | None = None) -> None:
    """Draw the study's policies on its workloads."""
    with style.house_style():
        style.save(draw(study, layout or Layout()), pdf, svg)


def draw(study: Study, layout: Layout) -> Figure:
    """Draw one panel for short and one for long prompts, a line per workload, a marker per policy."""
    collection = study.collection
    workloads, policies = collection.found_workloads, collection.found_policies
    height_in = layout.frame_in + layout.line_in * len(workloads)
    figure = Figure(figsize=(layout.width_in, height_in))
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (prompts, title) in zip(panels, _PROMPTS.items(), strict=True):
        for place, workload in enumerate(workloads):
            _draw_workload(axes, study, place, workload, prompts, layout)
        style.label_panel(axes, title)
        axes.set_xscale("log")
        style.label_decades(axes.xaxis)
        axes.set_xlabel("p99 TTFT (s)")
    panels[0].set_yticks(range(len(workloads)), workloads)
    panels[0].set_ylim(len(workloads) - 0.5, -0.5)
    handles = [_handle(policy) for policy in policies]
    figure.legend(handles=handles, loc="upper center", ncols=len(handles), handlelength=1.8)
    text_in = style.add_provenance(figure, collection.listed, collection.missing(), "lines: 95% intervals")
    bottom = (text_in + 0.45) / height_in
    figure.subplots_adjust(left=0.15, right=0.985, top=1 - 0.53 / height_in, bottom=bottom, wspace=0.08)
    return figure


def _draw_workload(axes: Axes, study: Study, place: int, workload: str, prompts: str, layout: Layout) -> None:
    policies = study.collection.found_policies
    for number, policy in enumerate(policies):
        p99 = study.measure("p99", workload, policy, prompts=prompts)
        look = style.look(policy)
        y = place + layout.spread * ((number + 0.5) / len(policies) - 0.5)
        axes.plot([p99.low, p99.high], [y, y], color=look.color, linestyle=look.dashes, linewidth=1.2)
        axes.plot(p99.point, y, look.marker, color=look.color, fillstyle=_fill(policy), markersize=6)


def _handle(policy: str) -> Line2D:
    look = style.look(policy)
    return Line2D(
        *([], []),
        color=look.color,
        linestyle=look.dashes,
        marker=look.marker,
        markersize=6,
        fillstyle=_fill(policy),
        label=look.label,
    )


def _fill(policy: str) -> FillStyleType:
    """Fill the markers of one colour differently."""
    return _FILLS.get(policy, "full")

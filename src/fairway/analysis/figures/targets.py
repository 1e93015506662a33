"""The matrix of targets: in which phases each policy has about the reference's median and p99."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from fairway.analysis import wording
from fairway.analysis.figures import style
from fairway.analysis.study import Study
from fairway.analysis.targets import Target, targets

_MET, _MISSED = "#2f5f8a", "#ffffff"


@dataclass(frozen=True)
class Layout:
    """Size of the figure."""

    width_in: float = style.PAGE_WIDTH_IN
    line_in: float = 0.2
    frame_in: float = 1.25


def plot(study: Study, pdf: Path, svg: Path, layout: Layout | None = None) -> None:
    """Draw the matrix of the study's workloads and policies."""
    with style.house_style():
        style.save(draw(study, layout or Layout()), pdf, svg)


def draw(study: Study, layout: Layout) -> Figure:
    """Draw one panel per workload, one line per policy, one cell per target."""
    found = targets(study)
    collection = study.collection
    workloads = [name for name in collection.found_workloads if any(t.workload == name for t in found)]
    policies = collection.found_policies
    height_in = layout.frame_in + layout.line_in * len(policies)
    figure = Figure(figsize=(layout.width_in, height_in))
    panels = figure.subplots(1, max(1, len(workloads)), squeeze=False, sharey=True)[0]
    for axes, workload in zip(panels, workloads, strict=False):
        _draw_matrix(axes, [target for target in found if target.workload == workload], policies)
        axes.set_title(workload, fontsize=9, pad=24)
    panels[0].set_yticks(range(len(policies)), [style.look(name).label for name in policies])
    remark = "p50 as a multiple of LPM's, p99 of FCFS's; dark: target met within 10%"
    text_in = style.add_provenance(figure, collection.listed, collection.missing(), remark)
    bottom = (text_in + 0.08) / height_in
    figure.subplots_adjust(left=0.17, right=0.985, top=1 - 0.58 / height_in, bottom=bottom, wspace=0.04)
    return figure


def _draw_matrix(axes: Axes, found: Sequence[Target], policies: Sequence[str]) -> None:
    columns = list(dict.fromkeys((target.phase, target.percentile) for target in found))
    for target in found:
        _draw_cell(axes, columns.index((target.phase, target.percentile)), policies.index(target.policy), target)
    for line, policy in enumerate(policies):
        mine = [target for target in found if target.policy == policy]
        if mine:
            met = sum(target.is_met for target in mine)
            axes.text(len(columns), line, f"{met} of {len(mine)}", ha="center", va="center", fontsize=8)
    axes.set_xlim(-0.5, len(columns) + 0.5)
    axes.set_ylim(len(policies) - 0.5, -0.5)
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(columns)), [percentile for _, percentile in columns])
    for phase in dict.fromkeys(phase for phase, _ in columns):
        middle = sum(place for place, column in enumerate(columns) if column[0] == phase) / 2
        axes.annotate(phase, (middle, 1), (0, 14), axes.get_xaxis_transform(), "offset points", ha="center")
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def _draw_cell(axes: Axes, column: int, line: int, target: Target) -> None:
    face, ink = (_MET, "white") if target.is_met else (_MISSED, "#222222")
    axes.add_patch(
        Rectangle((column - 0.48, line - 0.44), 0.96, 0.88, facecolor=face, edgecolor="#999999", linewidth=0.5)
    )
    axes.text(column, line, wording.number(target.ratio), ha="center", va="center", color=ink, fontsize=8)

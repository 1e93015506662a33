"""The median-p99 plane: what each policy pays at the tail for its median, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairway.analysis.bootstrap import Interval
from fairway.analysis.figures import style
from fairway.analysis.study import Study


@dataclass(frozen=True)
class Layout:
    """Size of the figure."""

    width_in: float = style.PAGE_WIDTH_IN
    height_in: float = 3.4


def plot(study: Study, pdf: Path, svg: Path, layout: Layout | None = None) -> None:
    """Draw one panel per workload over the phase that its claims are about; InputError where nothing was served."""
    for workload in study.collection.found_workloads:
        study.check_served(workload, study.collection.of(workload)[0].policy)
    with style.house_style():
        style.save(draw(study, layout or Layout()), pdf, svg)


def draw(study: Study, layout: Layout) -> Figure:
    """Draw one marker per policy and workload; hollow where the policy starves requests."""
    collection = study.collection
    workloads = collection.found_workloads
    figure = Figure(figsize=(layout.width_in, layout.height_in))
    panels = figure.subplots(1, len(workloads), squeeze=False)[0]
    for axes, workload in zip(panels, workloads, strict=True):
        for result in collection.of(workload):
            _draw_policy(axes, study, workload, result.policy)
        axes.set_xscale("log")
        axes.set_yscale("log")
        style.label_decades(axes.xaxis)
        style.label_decades(axes.yaxis)
        axes.set_xlabel("Median TTFT (s)")
        style.label_panel(axes, f"{workload}, {study.phase(workload)}")
    panels[0].set_ylabel("p99 TTFT (s)")
    handles = [_handle(name) for name in collection.found_policies]
    figure.legend(handles=handles, loc="center right", handlelength=1.2)
    remark = "crosses: 95% intervals; hollow: starves requests (worst/p99 above 3)"
    text_in = style.add_provenance(figure, collection.listed, collection.missing(), remark, study.selected_phase)
    bottom = (text_in + 0.45) / layout.height_in
    figure.subplots_adjust(left=0.075, right=0.79, top=0.92, bottom=bottom, wspace=0.2)
    return figure


def _draw_policy(axes: Axes, study: Study, workload: str, policy: str) -> None:
    look = style.look(policy)
    p50 = study.measure("p50", workload, policy)
    p99 = study.measure("p99", workload, policy)
    face = "white" if study.starves(workload, policy) else look.color
    _draw_cross(axes, p50, p99, look.color)
    axes.plot(p50.point, p99.point, look.marker, color=look.color, markerfacecolor=face, markersize=6)


def _draw_cross(axes: Axes, p50: Interval, p99: Interval, color: str) -> None:
    axes.plot([p50.low, p50.high], [p99.point] * 2, color=color, linewidth=0.9)
    axes.plot([p50.point] * 2, [p99.low, p99.high], color=color, linewidth=0.9)


def _handle(policy: str) -> Line2D:
    look = style.look(policy)
    return Line2D([], [], color=look.color, marker=look.marker, linestyle="none", markersize=6, label=look.label)

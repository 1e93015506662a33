"""How far the uncached work of waiting requests lies apart, workload by workload."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairway.analysis.collection import Collection
from fairway.analysis.figures import style
from fairway.analysis.metrics import SPREAD_WAITING
from fairway.analysis.results import Array, Result
from fairway.errors import InputError

_INK = "#333333"
_PERCENTS = (5, 25, 50, 75, 95)


@dataclass(frozen=True)
class Layout:
    """Size of the figure."""

    width_in: float = style.PAGE_WIDTH_IN
    line_in: float = 0.22
    frame_in: float = 1.55


def plot(collection: Collection, pdf: Path, svg: Path, layout: Layout | None = None) -> None:
    """Draw one line per result; InputError if none of them has hooks with enough waiting requests."""
    shown = [result for result in collection.listed if len(_spread(result)) > 0 and result.reuse_is_known]
    if not shown:
        raise InputError(
            f"no hook with at least {SPREAD_WAITING} waiting requests in any of these results",
            remedy="choose workloads of a higher load whose traces say what prompts share",
        )
    with style.house_style():
        style.save(draw(collection, shown, layout or Layout()), pdf, svg)


def draw(collection: Collection, shown: list[Result], layout: Layout) -> Figure:
    """Draw quantiles over hooks of p95 over p5, and the median of maximum over minimum."""
    height_in = layout.frame_in + layout.line_in * len(shown)
    figure = Figure(figsize=(layout.width_in, height_in))
    axes = figure.subplots()
    for place, result in enumerate(shown):
        _draw_result(axes, place, result)
    axes.set_yticks(range(len(shown)), [f"{result.workload} ({len(_spread(result)):,})" for result in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xscale("log")
    style.label_decades(axes.xaxis)
    axes.set_xlabel("Uncached tokens of the waiting requests: p95 over p5 in one hook")
    figure.legend(handles=_handles(), loc="upper center", ncols=4, handlelength=1.8)
    remark = f"in brackets: hooks with at least {SPREAD_WAITING} waiting under FCFS"
    quiet = [result.workload for result in collection.listed if result not in shown]
    if quiet:
        remark += f"; none in {', '.join(quiet)}"
    text_in = style.add_provenance(figure, shown, collection.missing(), remark)
    bottom = (text_in + 0.45) / height_in
    figure.subplots_adjust(left=0.23, right=0.985, top=1 - 0.3 / height_in, bottom=bottom)
    return figure


def _draw_result(axes: Axes, place: int, result: Result) -> None:
    p5, p25, p50, p75, p95 = np.percentile(_spread(result), _PERCENTS, method="inverted_cdf")
    axes.plot([p5, p95], [place, place], color=_INK, linewidth=0.9)
    axes.plot([p25, p75], [place, place], color="#8a8a8a", linewidth=6, solid_capstyle="butt")
    axes.plot(p50, place, "|", color="black", markersize=9, markeredgewidth=1.8)
    extreme = np.percentile(_spread(result, extremes=True), 50, method="inverted_cdf")
    axes.plot(extreme, place, "D", color=_INK, markerfacecolor="white", markersize=4.5)


def _spread(result: Result, *, extremes: bool = False) -> Array:
    hooks = result.hooks
    above, below = ("uncached_max", "uncached_min") if extremes else ("uncached_p95", "uncached_p5")
    keep = hooks["waiting"] >= SPREAD_WAITING
    ratios: Array = hooks[above][keep] / np.maximum(hooks[below][keep], 1)
    return ratios


def _handles() -> list[Line2D]:
    return [
        Line2D([], [], color="black", marker="|", markersize=9, markeredgewidth=1.8, linestyle="none", label="median"),
        Line2D([], [], color="#8a8a8a", linewidth=6, solid_capstyle="butt", label="middle half of hooks"),
        Line2D([], [], color=_INK, linewidth=0.9, label="5% to 95% of hooks"),
        Line2D(
            [],
            [],
            color=_INK,
            marker="D",
            markerfacecolor="white",
            markersize=4.5,
            linestyle="none",
            label="maximum over minimum, median",
        ),
    ]

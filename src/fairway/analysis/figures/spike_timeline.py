"""The spike as a timeline: arrivals above, median and p99 TTFT of each window's arrivals below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairway.analysis.figures import style
from fairway.analysis.metrics import NS_PER_S
from fairway.analysis.results import WARM_UP, Array, Result, read_result
from fairway.rows import SERVED, order_statistic

_SHADES = {WARM_UP: style.WARM_UP_SHADE, "burst": style.BURST_SHADE, "spike": style.SPIKE_SHADE}


@dataclass(frozen=True)
class Layout:
    """Size of the figure and width of a window of arrivals."""

    window_s: int = 5
    width_in: float = style.PAGE_WIDTH_IN
    height_in: float = 4.8


def plot(
    rows_root: Path, workload: str, policies: Sequence[str], pdf: Path, svg: Path, layout: Layout | None = None
) -> None:
    """Draw the timeline of ``policies`` on ``workload``; InputError if a result is missing."""
    results = [read_result(rows_root, workload, policy, with_warm_up=True) for policy in policies]
    with style.house_style():
        style.save(draw(results, layout or Layout()), pdf, svg)


def draw(results: list[Result], layout: Layout) -> Figure:
    """Draw one line per result; all of one workload."""
    figure = Figure(figsize=(layout.width_in, layout.height_in))
    rate, median, tail = figure.subplots(3, 1, sharex=True, height_ratios=(1, 1.5, 1.5))
    _draw_rate(rate, results[0], layout)
    for result in results:
        _draw_percentile(median, result, 50, layout)
        _draw_percentile(tail, result, 99, layout)
    style.label_panel(median, f"Median TTFT of the arrivals of each {layout.window_s} s")
    style.label_panel(tail, f"p99 TTFT of the arrivals of each {layout.window_s} s")
    tail.set_xlabel("Arrival (s since the start of the replay)")
    for axes in (rate, median, tail):
        _shade_phases(axes, results[0])
        axes.set_xlim(0, _end_s(results[0]))
    for axes in (median, tail):
        axes.set_yscale("log")
        style.label_decades(axes.yaxis)
        axes.set_ylabel("TTFT (s)")
    handles, labels = median.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=len(results), handlelength=3.2)
    style.add_provenance(figure, results)
    figure.subplots_adjust(left=0.1, right=0.985, top=0.89, bottom=0.165, hspace=0.36)
    figure.align_ylabels()
    return figure


def _draw_rate(axes: Axes, result: Result, layout: Layout) -> None:
    arrivals = np.bincount(_window(result.requests["arrival_ns"], layout))
    per_s = arrivals / (len(result.seeds) * layout.window_s)
    edges = np.arange(len(arrivals) + 1) * layout.window_s
    axes.stairs(per_s, edges, baseline=None, color="#333333", linewidth=1.0)
    axes.set_ylim(0, float(per_s.max()) * 1.35)
    axes.set_ylabel("Arrivals/s")
    style.label_panel(axes, "Arrival rate (mean over seeds)")
    for name, (start_s, end_s) in _phases_s(result).items():
        axes.text((start_s + end_s) / 2, 0.96, name, transform=axes.get_xaxis_transform(), ha="center", va="top")


def _draw_percentile(axes: Axes, result: Result, percent: int, layout: Layout) -> None:
    requests = result.requests
    served = requests["outcome"] == SERVED
    window = _window(requests["arrival_ns"][served], layout)
    ttft_ns = np.ma.getdata(requests["first_token_ns"])[served] - requests["arrival_ns"][served]
    windows = np.unique(window)
    ttft_s = [order_statistic(ttft_ns[window == index], percent) / NS_PER_S for index in windows]
    look = style.look(result.policy)
    middle_s = (windows + 0.5) * layout.window_s
    axes.plot(middle_s, ttft_s, color=look.color, linestyle=look.dashes, linewidth=look.width, label=look.label)


def _shade_phases(axes: Axes, result: Result) -> None:
    for name, (start_s, end_s) in _phases_s(result).items():
        if name in _SHADES:
            axes.axvspan(start_s, end_s, color=_SHADES[name], linewidth=0, zorder=0)


def _phases_s(result: Result) -> dict[str, tuple[float, float]]:
    """Span of each phase's arrivals over all seeds, in order of time."""
    arrival_ns, phase = result.requests["arrival_ns"], result.requests["phase"]
    spans = {name: arrival_ns[phase == name] for name in sorted(set(phase)) if name}
    ordered = sorted(spans, key=lambda name: int(spans[name].min()))
    return {name: (int(spans[name].min()) / NS_PER_S, int(spans[name].max()) / NS_PER_S) for name in ordered}


def _window(arrival_ns: Array, layout: Layout) -> Array:
    return arrival_ns // (layout.window_s * NS_PER_S)


def _end_s(result: Result) -> float:
    return int(result.requests["arrival_ns"].max()) / NS_PER_S

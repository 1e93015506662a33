"""Fairway's p99 in each scenario beside the best baseline that starves nobody, and their ratio."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MultipleLocator

from fairway.analysis.bootstrap import BETTER, TIE, WORSE, Comparison, Interval
from fairway.analysis.figures import style
from fairway.analysis.study import Study

_MARKS = {BETTER: ("v", "full"), TIE: ("o", "none"), WORSE: ("^", "full")}  # by shape, so that grey suffices
_BASELINES = "baselines"
_LETTER_SHARE = 0.0108  # of the figure's width, for a letter of a scenario's name


@dataclass(frozen=True)
class Layout:
    """Size of the figure."""

    width_in: float = style.PAGE_WIDTH_IN
    line_in: float = 0.24
    frame_in: float = 1.45


@dataclass(frozen=True)
class _Line:
    """One scenario: Fairway, the best baseline at the point estimate, and the paired comparison."""

    workload: str
    fairway: Interval
    baseline: str
    baseline_p99: Interval
    comparison: Comparison


def plot(study: Study, policy: str, pdf: Path, svg: Path, layout: Layout | None = None) -> None:
    """Draw the study's workloads under ``policy`` and its baselines."""
    with style.house_style():
        style.save(draw(study, policy, layout or Layout()), pdf, svg)


def draw(study: Study, policy: str, layout: Layout) -> Figure:
    """Draw one line per scenario that has the policy and a baseline that starves nobody."""
    lines = [line for workload in study.collection.found_workloads if (line := _line(study, policy, workload))]
    height_in = layout.frame_in + layout.line_in * max(1, len(lines))
    figure = Figure(figsize=(layout.width_in, height_in))
    latency, ratio = figure.subplots(1, 2, sharey=True, width_ratios=(1.15, 1))
    for place, line in enumerate(lines):
        _draw_latency(latency, place, line, policy)
        _draw_ratio(ratio, place, line.comparison)
    latency.set_yticks(range(len(lines)), [line.workload for line in lines])
    latency.set_ylim(max(1, len(lines)) - 0.5, -0.5)
    latency.set_xscale("log")
    style.label_decades(latency.xaxis)
    latency.set_xlabel("p99 TTFT (s)")
    ratio.axvline(1, color="#333333", linewidth=0.8)
    ratio.set_xscale("log")
    ratio.xaxis.set_major_locator(MultipleLocator(_step(ratio)))
    ratio.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ratio.xaxis.set_minor_locator(MultipleLocator(_step(ratio)))
    ratio.xaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    ratio.set_xlabel(f"p99, {style.look(policy).label} over best baseline (95%)")
    _add_legend(figure, lines, policy)
    drawn = {line.workload for line in lines}
    without = [name for name in study.collection.found_workloads if name not in drawn]
    remark = f"no baseline that starves nobody: {', '.join(without)}" if without else ""
    text_in = style.add_provenance(figure, study.collection.listed, study.collection.missing(), remark)
    bottom = (text_in + 0.45) / height_in
    left = max(0.15, _LETTER_SHARE * max((len(line.workload) for line in lines), default=0))
    figure.subplots_adjust(left=left, right=0.985, top=1 - 0.4 / height_in, bottom=bottom, wspace=0.06)
    return figure


def _line(study: Study, policy: str, workload: str) -> _Line | None:
    group = study.group(_BASELINES, workload)
    best = study.best(group, workload)
    if best is None or (workload, policy) not in study.collection.results:
        return None
    functions = study.functions(workload)
    comparison = study.compare(workload, functions["p99"](policy), functions["best_p99"](group))
    p99 = study.measure("p99", workload, policy)
    return _Line(workload, p99, best, study.measure("p99", workload, best), comparison)


def _draw_latency(axes: Axes, place: int, line: _Line, policy: str) -> None:
    for name, p99, shift in ((line.baseline, line.baseline_p99, 0.14), (policy, line.fairway, -0.14)):
        look = style.look(name)
        axes.plot([p99.low, p99.high], [place + shift] * 2, color=look.color, linewidth=1.2)
        axes.plot(p99.point, place + shift, look.marker, color=look.color, markersize=5)


def _draw_ratio(axes: Axes, place: int, comparison: Comparison) -> None:
    marker, fill = _MARKS[comparison.verdict]
    ratio = comparison.ratio
    axes.plot([ratio.low, ratio.high], [place] * 2, color="#333333", linewidth=1.2)
    axes.plot(
        ratio.point,
        place,
        marker,
        color="#333333",
        markersize=5.5,
        markerfacecolor="white" if fill == "none" else "#333333",
    )


def _step(axes: Axes) -> float:
    """Distance of ticks on an axis of ratios around 1, so that at most about eight are labelled."""
    low, high = axes.get_xlim()
    steps = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
    return float(next((step for step in steps if (high - low) / step <= 8), np.ceil(high / 8)))


def _add_legend(figure: Figure, lines: list[_Line], policy: str) -> None:
    names = [policy, *sorted({line.baseline for line in lines})]
    looks = [style.look(name) for name in names]
    handles = [Line2D([], [], color=look.color, marker=look.marker, markersize=5, label=look.label) for look in looks]
    for verdict, (marker, fill) in _MARKS.items():
        face = "white" if fill == "none" else "#333333"
        handles.append(
            Line2D([], [], color="#333333", marker=marker, markersize=5.5, markerfacecolor=face, label=verdict)
        )
    figure.legend(handles=handles, loc="upper center", ncols=len(handles), handlelength=1.8, columnspacing=1.3)

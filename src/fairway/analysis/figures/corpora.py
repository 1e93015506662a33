"""Real corpora beside the embedded ones: the distribution of each statistic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairway.analysis.figures import style
from fairway.errors import InputError

COLUMNS = 3
ROW_IN = 1.75
NARROW = 30  # times its lower end: an axis that powers of ten alone would leave without labels
_REAL = style.look("fairway")
_EMBEDDED = style.look("lpm")


def plot(curves_file: Path, pdf: Path, svg: Path) -> None:
    """Draw what `describe_corpora.py` wrote, one panel a statistic.

    Raises:
        InputError: the file cannot be read, or holds no such curves.
    """
    try:
        curves = json.loads(curves_file.read_text(encoding="utf-8"))
        with style.house_style():
            style.save(draw(curves), pdf, svg)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"these are no curves ({error})", remedy="make them again", file=curves_file) from error


def draw(curves: list[dict[str, Any]]) -> Figure:
    """Draw shares at or below each value; panels of a corpus stand together."""
    rows = -(-len(curves) // COLUMNS)
    figure = Figure(figsize=(style.PAGE_WIDTH_IN, ROW_IN * rows + 0.3), layout="constrained")
    panels = figure.subplots(rows, COLUMNS, squeeze=False, sharey=True)
    for axes, curve in zip(panels.flat, curves, strict=False):
        _draw_curve(axes, curve)
    for axes in panels.flat[len(curves) :]:
        axes.set_axis_off()
    for row in panels:
        row[0].set_ylabel("Share at or below")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def _draw_curve(axes: Axes, curve: dict[str, Any]) -> None:
    for name, looks in (("real", _REAL), ("embedded", _EMBEDDED)):
        values = curve[name]
        shares = [place / (len(values) - 1) for place in range(len(values))]
        axes.plot(values, shares, color=looks.color, linestyle=looks.dashes, linewidth=1.4, label=name)
    if min(curve["real"]) > 0:
        axes.set_xscale("log")
        if max(curve["real"]) < NARROW * min(curve["real"]):
            style.label_decades(axes.xaxis)
    axes.set_xlabel(f"{curve['statistic']} (distance {curve['distance']:.3f})", fontsize=8)
    style.label_panel(axes, curve["corpus"])

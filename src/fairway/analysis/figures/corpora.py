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
ROW_IN = 1.9
LABELS_APART = 0.16  # of a panel's width
# The curves lie on each other nearly everywhere: the lower one is a pale band, so both are seen, in grey as well.
_LINES: dict[str, dict[str, Any]] = {
    "real": {"color": "#8fc1e3", "linestyle": "-", "linewidth": 4.5, "solid_capstyle": "butt"},
    "embedded": {"color": "#222222", "linestyle": (0, (3.5, 1.8)), "linewidth": 1.3},
}


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
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=2, handlelength=4)
    return figure


def _draw_curve(axes: Axes, curve: dict[str, Any]) -> None:
    for name, line in _LINES.items():
        values = curve[name]
        shares = [place / (len(values) - 1) for place in range(len(values))]
        axes.plot(values, shares, label=name, **line)
    if min(curve["real"]) > 0:
        axes.set_xscale("log")
        style.label_apart(axes.xaxis, LABELS_APART)
    axes.set_xlabel(f"{curve['statistic']}\n(distance {curve['distance']:.3f})", fontsize=8)
    style.label_panel(axes, curve["corpus"])

"""The regime map of the sweep: who has the lowest p99 and who the lowest median, by spread, load and hot work."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairway.analysis.figures import style
from fairway.analysis.regimes import Place, RegimeRow, regime_rows
from fairway.analysis.study import Study
from fairway.errors import InputError

_PANELS = {"p99_winner": "Lowest p99, starving nobody", "p50_winner": "Lowest median"}
_SHOWN_SHARES = (0.2, 0.5, 0.8)


@dataclass(frozen=True)
class Layout:
    """Size of the figure, and of a marker in points without and with only hot work."""

    width_in: float = style.PAGE_WIDTH_IN
    height_in: float = 3.7
    legend_columns: int = 6
    legend_row_in: float = 0.19  # what the legend takes beyond its first row
    smallest_pt: float = 4.0
    largest_pt: float = 10.0


def plot(study: Study, places: Mapping[str, Place], pdf: Path, svg: Path, layout: Layout | None = None) -> None:
    """Draw the study's configurations; InputError if none of them has a known spread."""
    rows = regime_rows(study, places)
    if all(row.spread is None for row in rows):
        raise InputError("no configuration ever has enough requests waiting", remedy="raise the loads of the sweep")
    with style.house_style():
        style.save(draw(study, rows, layout or Layout()), pdf, svg)


def draw(study: Study, rows: Sequence[RegimeRow], layout: Layout) -> Figure:
    """Draw two panels of one marker per configuration: its look is the winner's, its size the share of hot work."""
    placed = [(row, row.spread) for row in rows if row.spread is not None]
    winners = sorted({getattr(row, winner) for row, _ in placed for winner in _PANELS})
    handles = [*map(_handle, winners), *(_size_handle(share, layout) for share in _SHOWN_SHARES)]
    legend_rows = math.ceil(len(handles) / layout.legend_columns)
    height_in = layout.height_in + (legend_rows - 1) * layout.legend_row_in
    figure = Figure(figsize=(layout.width_in, height_in))
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, (winner, title) in zip(panels, _PANELS.items(), strict=True):
        for row, spread in placed:
            _draw_configuration(axes, row, spread, getattr(row, winner), layout)
        axes.set_xscale("log")
        style.label_decades(axes.xaxis)
        axes.set_xlabel("Spread of uncached work (p95/p5)")
        style.label_panel(axes, title)
    panels[0].set_ylabel(f"Load of the {rows[0].phase} (multiples of rate 1.0)")
    figure.legend(
        handles=handles,
        loc="upper center",
        ncols=math.ceil(len(handles) / legend_rows),
        handlelength=1.0,
        columnspacing=1.1,
        handletextpad=0.4,
    )
    remark = f"{len(placed)} of {len(rows)} configurations with a known spread; size: hot share of uncached work"
    collection = study.collection
    text_in = style.add_provenance(figure, collection.listed, collection.missing(), remark, study.selected_phase)
    above_in = 0.155 * layout.height_in + (legend_rows - 1) * layout.legend_row_in
    top, bottom = 1 - above_in / height_in, (text_in + 0.45) / height_in
    figure.subplots_adjust(left=0.075, right=0.985, top=top, bottom=bottom, wspace=0.06)
    return figure


def _draw_configuration(axes: Axes, row: RegimeRow, spread: float, winner: str, layout: Layout) -> None:
    look = style.look(winner)
    axes.plot(
        spread,
        row.load,
        look.marker,
        color=look.color,
        markeredgecolor="white",
        markeredgewidth=0.4,
        markersize=_size_pt(row.hot_share, layout),
    )


def _size_pt(hot_share: float, layout: Layout) -> float:
    return layout.smallest_pt + hot_share * (layout.largest_pt - layout.smallest_pt)


def _handle(policy: str) -> Line2D:
    look = style.look(policy)
    return Line2D([], [], color=look.color, marker=look.marker, linestyle="none", markersize=6, label=look.label)


def _size_handle(share: float, layout: Layout) -> Line2D:
    size = _size_pt(share, layout)
    label = f"{100 * share:.0f}% hot"
    return Line2D([], [], color="#777777", marker="o", linestyle="none", markersize=size, label=label)

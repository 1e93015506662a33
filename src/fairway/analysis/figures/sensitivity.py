"""The spike's median and p99 with one parameter moved, relative to the default parameters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from fairway.analysis.figures import style
from fairway.analysis.sensitivity import DEFAULT, sensitivity_rows
from fairway.analysis.study import Study
from fairway.errors import InputError

_BAND = 0.10  # as in the claim "frozen-parameters"


@dataclass(frozen=True)
class Layout:
    """Size of the figure."""

    width_in: float = style.COLUMN_WIDTH_IN
    line_in: float = 0.24
    frame_in: float = 1.75


def plot(study: Study, pdf: Path, svg: Path, layout: Layout | None = None) -> None:
    """Draw the variants of the study's one workload; InputError without any."""
    with style.house_style():
        style.save(draw(study, layout or Layout()), pdf, svg)


def draw(study: Study, layout: Layout) -> Figure:
    """Draw one line per variant with its median and its p99."""
    rows = [row for row in sensitivity_rows(study) if row.policy != DEFAULT]
    if not rows:
        raise InputError("no variant with a moved parameter was run", remedy="add them to policy_variants")
    height_in = layout.frame_in + layout.line_in * len(rows)
    figure = Figure(figsize=(layout.width_in, height_in))
    axes = figure.subplots()
    axes.axvspan(1 - _BAND, 1 + _BAND, color="#e6e6e6", linewidth=0, zorder=0)
    axes.axvline(1, color="#333333", linewidth=0.8)
    places = range(len(rows))
    ink = style.look(DEFAULT).color
    axes.plot([row.p50_ratio for row in rows], places, "o", color=ink, markerfacecolor="white", label="median")
    axes.plot([row.p99_ratio for row in rows], places, "D", color=ink, markersize=5, label="p99")
    axes.set_yticks(places, [row.policy.removeprefix(f"{DEFAULT}-").replace("-", " ") for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel(f"TTFT in the {rows[0].phase} over the default's")
    figure.legend(*axes.get_legend_handles_labels(), loc="upper center", ncols=2, handlelength=1.2)
    remark = "grey: within 10% of the default parameters"
    collection = study.collection
    text_in = style.add_provenance(figure, collection.listed, collection.missing(), remark, study.selected_phase)
    bottom = (text_in + 0.45) / height_in
    figure.subplots_adjust(left=0.21, right=0.95, top=1 - 0.3 / height_in, bottom=bottom)
    return figure

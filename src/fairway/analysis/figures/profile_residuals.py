"""A measured profile's residuals: how far its two parts, added up, are from each measured step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from fairway.analysis import wording
from fairway.analysis.figures import style


@dataclass(frozen=True)
class Layout:
    """Size of the figure."""

    width_in: float = style.COLUMN_WIDTH_IN
    height_in: float = 3.0


def plot(profile: Mapping[str, Any], pdf: Path, svg: Path, layout: Layout | None = None) -> None:
    """Draw the residuals of a profile's document."""
    with style.house_style():
        style.save(draw(profile, layout or Layout()), pdf, svg)


def draw(profile: Mapping[str, Any], layout: Layout) -> Figure:
    """Draw one mark a measured step: its time, and the profile's difference from it with the repeats' deviation."""
    measurement = profile["measurement"]
    figure = Figure(figsize=(layout.width_in, layout.height_in))
    axes = figure.subplots()
    axes.axhline(0, color="#333333", linewidth=0.8)
    _draw(axes, [row for row in measurement["fitted"] if len(row["chunks"]) == 1], "o", "one request")
    _draw(axes, [row for row in measurement["fitted"] if len(row["chunks"]) > 1], "s", "several alike")
    _draw(axes, measurement["held_out"], "D", "unlike, not fitted")
    axes.set_xscale("log")
    axes.set_xlabel("measured step, ms")
    axes.set_ylabel("profile over measured - 1, %")
    figure.legend(*axes.get_legend_handles_labels(), loc="upper center", ncols=3, handlelength=1, columnspacing=1)
    versions = ", ".join(f"{name} {version}" for name, version in measurement["versions"].items())
    text = f"measured, {profile['device']}, {profile['model']}; {versions}\ndrift {measurement['drift']['ratio']:.3f}"
    unfinished = wording.unfinished_fit(measurement)
    text += f"; WARNING: {unfinished}" if unfinished else ""
    figure.text(0.01, 0.01, text, fontsize=5, va="bottom", wrap=True)
    figure.subplots_adjust(left=0.18, right=0.97, top=0.9, bottom=0.27)
    return figure


def _draw(axes: Any, rows: Sequence[Mapping[str, Any]], mark: str, label: str) -> None:
    axes.errorbar(
        [row["measured_ms"] for row in rows],
        [100 * row["residual_share"] for row in rows],
        yerr=[100 * row["deviation_ms"] / row["measured_ms"] for row in rows],
        fmt=mark,
        markersize=3,
        markerfacecolor="white",
        linewidth=0.5,
        label=label,
    )

"""One column: ratios to aisimulate, how time grows with the trace, and what ordering a queue costs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairway.analysis.figures import style

_HATCHES = ("", "////")
_GROWING = ("fcfs", "lpm", "fairway")  # of the policies measured; all of them would hide each other
_GREY = "#777777"
_FADED: style.Dashes = (0, (1, 2))


@dataclass(frozen=True)
class Layout:
    """Size of the figure."""

    width_in: float = style.COLUMN_WIDTH_IN
    line_in: float = 0.14
    panel_in: float = 2.0
    frame_in: float = 0.65


def plot(
    document: dict[str, Any], ordering: dict[str, Any] | None, pdf: Path, svg: Path, layout: Layout | None = None
) -> None:
    """Draw what was measured."""
    with style.house_style():
        style.save(draw(document, ordering, layout or Layout()), pdf, svg)


def draw(document: dict[str, Any], ordering: dict[str, Any] | None, layout: Layout) -> Figure:
    """Draw a panel for each measurement that is there; of the policies, those that other figures show as well."""
    measured = document["against_peer"]
    policies = [row["policy"] for row in measured["pressures"][0]["replays"]]
    shown = [policy for policy in policies if style.look(policy).label != policy]
    heights = [layout.line_in * len(measured["pressures"]) * len(shown), *([layout.panel_in] * (2 if ordering else 1))]
    frame_in = layout.frame_in * len(heights)
    figure = Figure(figsize=(layout.width_in, sum(heights) + frame_in), layout="constrained")
    bands = figure.subfigures(len(heights), 1, height_ratios=[height + layout.frame_in for height in heights])
    panels = [band.subplots() for band in bands]  # each with a margin of its own: names of policies are long
    _draw_ratios(panels[0], measured, shown)
    _draw_growth(panels[1], document["growth"])
    if ordering:
        _draw_ordering(panels[2], ordering)
    return figure


def _draw_ratios(axes: Axes, measured: dict[str, Any], policies: list[str]) -> None:
    """Draw a bar a policy and pressure: requests a second, as multiples of aisimulate's where it was there."""
    pressures = measured["pressures"]
    looks = [style.look(policy) for policy in policies]
    thickness = 0.84 / len(pressures)
    for place, (pressure, hatch) in enumerate(zip(pressures, _HATCHES, strict=False)):
        speeds = {row["policy"]: _speed(row, pressure, measured) for row in pressure["replays"]}
        heights = np.arange(len(policies)) + (place - (len(pressures) - 1) / 2) * thickness
        colors = [one.color for one in looks]
        values = [speeds[policy] for policy in policies]
        bars = axes.barh(heights, values, thickness, color=colors, hatch=hatch, edgecolor="white")
        axes.bar_label(bars, [f"{value:,.3g}" for value in values], padding=2, fontsize=7)
        axes.barh([0], [0], color=_GREY, hatch=hatch, edgecolor="white", label=pressure["name"])
    axes.set_yticks(range(len(policies)), [one.label for one in looks])
    axes.set_ylim(len(policies) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.margins(x=0.15)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("Times aisimulate's FCFS" if measured["peer"] else "Requests a second")
    axes.legend(loc="lower right", ncols=2, bbox_to_anchor=(1.03, 0.99), borderpad=0.2, fontsize=7)
    axes.set_title(f"a. {measured['requests']:,} requests, one core", loc="left", fontsize=9, pad=16)
    style.label_decades(axes.xaxis)


def _speed(row: dict[str, Any], pressure: dict[str, Any], measured: dict[str, Any]) -> float:
    if measured["peer"]:
        return median(theirs / ours for theirs, ours in zip(pressure["peer_s"], row["wall_s"], strict=True))
    return float(measured["requests"] / median(row["wall_s"]))


def _draw_growth(axes: Axes, growth: list[dict[str, Any]]) -> None:
    """Draw seconds over requests; a backlog dotted, and reading and preparing in grey."""
    low = growth[0]
    for part, dashes in (("reading", (0, (1, 1))), ("preparing", (0, (4, 2)))):
        _draw_sizes(axes, low, [size[part]["wall_s"] for size in low["sizes"]], part, color=_GREY, linestyle=dashes)
    for pressure in growth:
        rows = {row["policy"]: place for place, row in enumerate(pressure["sizes"][0]["replays"])}
        for policy in (policy for policy in _GROWING if policy in rows):
            look = style.look(policy)
            seconds = [size["replays"][rows[policy]]["wall_s"] for size in pressure["sizes"]]
            label = look.label if pressure is low else f"{look.label}, {pressure['name']}"
            dashes = look.dashes if pressure is low else _FADED
            _draw_sizes(axes, pressure, seconds, label, color=look.color, linestyle=dashes, marker=look.marker)
    _scale(axes, "Requests in the trace", "Seconds", [size["requests"] for size in low["sizes"]])
    style.label_panel(axes, "b. Longer traces, one core")


def _draw_sizes(axes: Axes, pressure: dict[str, Any], seconds: list[float], label: str, **look: Any) -> None:
    axes.plot([size["requests"] for size in pressure["sizes"]], seconds, label=label, markersize=4, **look)


def _draw_ordering(axes: Axes, ordering: dict[str, Any]) -> None:
    """Draw a step's ordering time over the queue's length, and that of walking every prompt anew."""
    rows = [row for row in ordering["costs"] if row["new_tokens"] == ordering["costs"][0]["new_tokens"]]
    walks = {row["waiting"]: row["walk_us"] / 1000 for row in rows}
    axes.plot(list(walks), list(walks.values()), color="#000000", marker="x", markersize=4, label="walking anew")
    for policy in dict.fromkeys(row["policy"] for row in rows):
        own = [row for row in rows if row["policy"] == policy]
        look = style.look(policy)
        times_ms = [row["order_us"] / 1000 for row in own]
        waiting = [row["waiting"] for row in own]
        label = look.label
        axes.plot(
            waiting, times_ms, color=look.color, linestyle=look.dashes, marker=look.marker, markersize=4, label=label
        )
    _scale(axes, "Requests waiting", "Milliseconds a step", list(walks))
    style.label_panel(axes, f"c. Ordering in vLLM {ordering['vllm']}")


def _scale(axes: Axes, x_label: str, y_label: str, counts: list[int]) -> None:
    """Make both axes logarithmic, the lower one labelled at what was measured, and leave room for the legend."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    labelled: list[int] = []
    for count in counts:
        if not labelled or count >= 1.5 * labelled[-1]:  # closer ones would run into each other
            labelled.append(count)
    axes.set_xticks(labelled, [f"{count // 1000}k" if count % 1000 == 0 else f"{count:,}" for count in labelled])
    axes.minorticks_off()
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.45)
    axes.legend(fontsize=7, ncols=2, loc="upper left", columnspacing=1.0, handlelength=2.4)
    style.label_decades(axes.yaxis)

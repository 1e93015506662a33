"""How Fairway's order moves from hits first to arrival as the queue grows: over all hooks, and through one spike."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairway.analysis.figures import style
from fairway.analysis.metrics import NS_PER_S
from fairway.analysis.results import Array, Result, read_result
from fairway.errors import InputError

_ORDERS = {"lpm_correlation": "lpm", "arrival_correlation": "fcfs"}  # whose order the correlation is with
_INK = {"lpm_correlation": style.look("lpm").color, "arrival_correlation": "#222222"}  # light and dark in grey as well
_WORDS = {"lpm_correlation": "with LPM's order", "arrival_correlation": "with arrival"}
SPIKE = "spike"


@dataclass(frozen=True)
class Layout:
    """Size of the figure, and how queue lengths are put together."""

    width_in: float = style.PAGE_WIDTH_IN
    height_in: float = 3.3
    bins_per_doubling: int = 2
    fewest_hooks: int = 20  # a bin with fewer says nothing


def plot(rows_root: Path, workload: str, policy: str, pdf: Path, svg: Path, layout: Layout | None = None) -> None:
    """Draw one policy on one workload; InputError if the result is missing or has no hook in a spike."""
    result = read_result(rows_root, workload, policy)
    if not _spike_hooks(result).any():
        raise InputError(
            f"no hook in a spike with a known order in {policy} on {workload}",
            remedy="choose a workload with a spike and a policy that orders the whole queue",
        )
    with style.house_style():
        style.save(draw(result, layout or Layout()), pdf, svg)


def draw(result: Result, layout: Layout) -> Figure:
    """Draw correlations against queue length on the left, and along the first seed's spike on the right."""
    figure = Figure(figsize=(layout.width_in, layout.height_in))
    grid = figure.add_gridspec(2, 2, width_ratios=(1, 1), height_ratios=(1, 1.7))
    by_length = figure.add_subplot(grid[:, 0])
    queue = figure.add_subplot(grid[0, 1])
    strip = figure.add_subplot(grid[1, 1], sharex=queue)
    _draw_by_length(by_length, result, layout)
    _draw_spike(queue, strip, result)
    handles, labels = by_length.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=2, handlelength=3.2)
    remark = f"{style.look(result.policy).label} on {result.workload}; bands: middle half of hooks"
    text_in = style.add_provenance(figure, [result], remark=remark)
    bottom = (text_in + 0.45) / layout.height_in
    figure.subplots_adjust(left=0.085, right=0.985, top=0.84, bottom=bottom, wspace=0.22, hspace=0.16)
    return figure


def _draw_by_length(axes: Axes, result: Result, layout: Layout) -> None:
    hooks = result.hooks
    known = ~np.isnan(hooks["lpm_correlation"])
    waiting = hooks["waiting"][known]
    place = np.floor(layout.bins_per_doubling * np.log2(waiting)).astype(np.int64)
    bins = [number for number in np.unique(place) if (place == number).sum() >= layout.fewest_hooks]
    middle = [float(np.median(waiting[place == number])) for number in bins]
    for column, order in _ORDERS.items():
        look = style.look(order)
        quartiles = [_quartiles(hooks[column][known][place == number]) for number in bins]
        low, median, high = np.array(quartiles).reshape(-1, 3).T
        axes.fill_between(middle, low, high, color=_INK[column], alpha=0.2, linewidth=0)
        axes.plot(
            middle,
            median,
            color=_INK[column],
            linestyle=look.dashes,
            marker=look.marker,
            markersize=4,
            label=f"rank correlation {_WORDS[column]}",
        )
    axes.set_xscale("log")
    style.label_decades(axes.xaxis)
    axes.set_ylim(top=1.03)
    axes.set_xlabel("Requests waiting")
    axes.set_ylabel("Rank correlation of the order")
    style.label_panel(axes, "All hooks")


def _draw_spike(queue: Axes, strip: Axes, result: Result) -> None:
    keep = _spike_hooks(result)
    seed = int(result.hooks["seed"][keep][0])
    keep &= result.hooks["seed"] == seed
    hooks = {name: values[keep] for name, values in result.hooks.items()}
    at_s = (hooks["now_ns"] - _spike_arrivals_ns(result, seed).min()) / NS_PER_S
    queue.plot(at_s, hooks["waiting"], color="#333333", linewidth=1.0)
    queue.set_ylabel("Waiting")
    queue.set_ylim(bottom=0)
    queue.tick_params(labelbottom=False)
    style.label_panel(queue, f"The spike of seed {seed}")
    for column, order in _ORDERS.items():
        look = style.look(order)
        strip.plot(
            at_s, hooks[column], color=_INK[column], linestyle="none", marker=look.marker, markersize=2, alpha=0.7
        )
    strip.set_ylim(-1.03, 1.03)
    strip.set_xlabel("Time since the spike began (s)")
    strip.set_ylabel("Correlation")


def _spike_hooks(result: Result) -> Array:
    """Say which hooks lie between the first and last arrival of their seed's spike and have a known order."""
    hooks = result.hooks
    keep = np.zeros(len(hooks["seed"]), dtype=bool)
    for seed in result.seeds:
        arrival_ns = _spike_arrivals_ns(result, seed)
        if len(arrival_ns):
            inside = (hooks["now_ns"] >= arrival_ns.min()) & (hooks["now_ns"] <= arrival_ns.max())
            keep |= (hooks["seed"] == seed) & inside
    known: Array = keep & ~np.isnan(hooks["lpm_correlation"])
    return known


def _spike_arrivals_ns(result: Result, seed: int) -> Array:
    requests = result.requests
    arrival_ns: Array = requests["arrival_ns"][(requests["seed"] == seed) & (requests["phase"] == SPIKE)]
    return arrival_ns


def _quartiles(values: Array) -> Array:
    quartiles: Array = np.percentile(values, (25, 50, 75), method="inverted_cdf")
    return quartiles

"""The flood: how long each waiting miss waited, and what the hits paid for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairway.analysis.figures import style
from fairway.analysis.metrics import NS_PER_S, Selection, TtftPool
from fairway.analysis.results import Array, Result, read_result
from fairway.errors import InputError
from fairway.rows import RUNS, SERVED, order_statistic

_MISSES = Selection(kind="miss")
_HITS = Selection(kind="hit")


@dataclass(frozen=True)
class Layout:
    """Size of the figure."""

    width_in: float = style.PAGE_WIDTH_IN
    height_in: float = 3.2


def plot(
    rows_root: Path, workload: str, policies: Sequence[str], pdf: Path, svg: Path, layout: Layout | None = None
) -> None:
    """Draw the flood under ``policies``; InputError if a result is missing or has no misses or no hits."""
    results = [read_result(rows_root, workload, policy) for policy in policies]
    for result in results:
        _check_kinds(rows_root, result)
    with style.house_style():
        style.save(draw(results, layout or Layout()), pdf, svg)


def draw(results: list[Result], layout: Layout) -> Figure:
    """Draw one line per result in both panels; all of one workload."""
    figure = Figure(figsize=(layout.width_in, layout.height_in))
    misses, hits = figure.subplots(1, 2, width_ratios=(1, 1))
    for result in results:
        _draw_misses(misses, result)
        _draw_hits(hits, result)
    _shade_flood(misses, results[0])
    misses.set_yscale("log")
    style.label_decades(misses.yaxis)
    misses.set_xlabel("Arrival of the miss (s)")
    misses.set_ylabel("TTFT (s)")
    style.label_panel(misses, "Misses: median over seeds, band to worst")
    hits.set_xscale("log")
    style.label_decades(hits.xaxis)
    hits.set_xlabel("TTFT (s)")
    hits.set_ylabel("Share of hits at or below")
    hits.set_ylim(0, 1.03)
    style.label_panel(hits, "Hits: distribution, marker at the worst")
    handles, labels = hits.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=len(results), handlelength=3.2)
    style.add_provenance(figure, results)
    figure.subplots_adjust(left=0.08, right=0.985, top=0.83, bottom=0.25, wspace=0.24)
    return figure


def _draw_misses(axes: Axes, result: Result) -> None:
    """Draw the k-th miss of all seeds as one point: misses arrive at even distances."""
    look = style.look(result.policy)
    arrival_s, ttft_s = _by_place(result)
    median_s = [order_statistic(column, 50) / NS_PER_S for column in ttft_s.T]
    axes.fill_between(arrival_s, median_s, ttft_s.max(axis=0) / NS_PER_S, color=look.color, alpha=0.18, linewidth=0)
    axes.plot(arrival_s, median_s, color=look.color, linestyle=look.dashes, linewidth=look.width)


def _shade_flood(axes: Axes, result: Result) -> None:
    """Shade the time from the first hit on, as far as misses arrive."""
    first_hit_s = int(result.requests["arrival_ns"][_HITS.keeps(result)].min()) / NS_PER_S
    end_s = axes.get_xlim()[1]
    axes.axvspan(first_hit_s, end_s, color=style.BURST_SHADE, linewidth=0, zorder=0)
    axes.text(first_hit_s, 0.03, " hits arrive, too", transform=axes.get_xaxis_transform(), ha="left", va="bottom")
    axes.set_xlim(right=end_s)


def _by_place(result: Result) -> tuple[Array, Array]:
    """Mean arrival of each miss, seconds: (misses,); TTFT in ns: (seeds, misses), as many as every seed served."""
    requests = result.requests
    keep = _MISSES.keeps(result) & (requests["outcome"] == SERVED)
    arrivals = [requests["arrival_ns"][keep & (requests["seed"] == seed)] for seed in result.seeds]
    misses = min(len(part) for part in arrivals)
    arrival_ns = np.stack([part[:misses] for part in arrivals])
    ttft_ns = np.stack([part[:misses] for part in TtftPool(result, _MISSES).by_seed_ns])
    return arrival_ns.sum(axis=0) / (len(arrivals) * NS_PER_S), ttft_ns


def _draw_hits(axes: Axes, result: Result) -> None:
    look = style.look(result.policy)
    ttft_s = np.sort(np.concatenate(TtftPool(result, _HITS).by_seed_ns)) / NS_PER_S
    share = np.arange(1, len(ttft_s) + 1) / len(ttft_s)
    axes.step(
        ttft_s, share, where="post", color=look.color, linestyle=look.dashes, linewidth=look.width, label=look.label
    )
    axes.plot(ttft_s[-1], 1, marker=look.marker, color=look.color, markersize=5, linestyle="none", clip_on=False)


def _check_kinds(rows_root: Path, result: Result) -> None:
    if not len(TtftPool(result, _MISSES)) or not len(TtftPool(result, _HITS)):
        raise InputError(
            f"no served misses and hits in {result.policy} on {result.workload}",
            remedy="name a flood workload",
            file=rows_root / result.workload / result.policy / RUNS.file_name,
        )

"""How every figure looks: sizes, fonts, one look per policy, and files that are the same bytes every time."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib.style as mpl_style
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from fairway.analysis import wording
from fairway.analysis.figures.seal import seal
from fairway.analysis.metrics import Selection, TtftPool, refused
from fairway.analysis.results import Result
from fairway.files import atomic_path

PAGE_WIDTH_IN = 7.0
COLUMN_WIDTH_IN = 3.3
SPIKE_SHADE = "#f6dfb8"
BURST_SHADE = "#fbf1de"
WARM_UP_SHADE = "#e6e6e6"

# Labels of a decade, by how many times its lower end an axis spans: short axes need closer ones.
_LOG_TICKS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (10, (1, 2, 5)),
    (3, (1, 1.5, 2, 3, 4, 5, 7)),
    (0, (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9)),
)
# Labels of so many decades, the densest first.
_STEPS_APART: tuple[tuple[int, tuple[float, ...]], ...] = (
    (1, (1, 1.5, 2, 3, 4.5, 7)),
    (1, (1, 2, 5)),
    (1, (1, 3)),
    (1, (1,)),
    (2, (1,)),
)
_LINE_IN = 0.135  # of text of 8 pt
_LETTERS_PER_IN = 16.5
_PALETTE = tuple(sns.color_palette("colorblind").as_hex())
_DARK_YELLOW, _DARK_PINK = "#857a12", "#b8569a"  # the palette's own are all but white in grey
_SETTINGS: dict[str, Any] = {
    "axes.grid": True,
    "axes.axisbelow": True,  # lines of the grid must not cut the curves
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "font.family": ["DejaVu Sans"],  # comes with matplotlib, so no machine substitutes another
    "font.size": 8,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "svg.hashsalt": "fairway",  # without it the ids inside an SVG are random
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}
# Dates and versions of writers would make equal figures differ.
_METADATA: dict[str, dict[str, str | None]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
}

Dashes = tuple[float, tuple[float, ...]]
_SOLID: Dashes = (0, ())
_DASHED: Dashes = (0, (5, 1.5))
_DOTTED: Dashes = (0, (1.2, 1.2))
_DASH_DOT: Dashes = (0, (5, 1.2, 1.2, 1.2))
_LONG: Dashes = (0, (9, 2))
_DOUBLE_DOT: Dashes = (0, (5, 1.2, 1.2, 1.2, 1.2, 1.2))


def _any_phase(_: str) -> None:
    return None


@dataclass(frozen=True)
class Look:
    """A policy's name and line, the same in every figure; line and marker tell it apart without colour."""

    label: str
    color: str
    dashes: Dashes
    marker: str
    width: float = 1.4


_LOOKS = {
    "fcfs": Look("FCFS", _PALETTE[7], _DASHED, "s"),
    "lpm": Look("LPM", _PALETTE[1], _DOTTED, "^"),
    "lpm-sglang": Look("LPM as in SGLang", _PALETTE[1], _LONG, "<"),
    "klpm-4": Look("4-LPM", _PALETTE[4], _DASH_DOT, "v"),
    "klpm-8": Look("8-LPM", _PALETTE[5], _DOUBLE_DOT, ">"),
    "ragcache": Look("RAGCache", _PALETTE[2], _DASH_DOT, "D"),
    "preble": Look("Preble", _PALETTE[9], _LONG, "P"),
    "peek": Look("PEEK-like", _DARK_YELLOW, _DASHED, "X"),
    "hrrn": Look("HRRN", _DARK_PINK, _DASHED, "d"),
    "lpm-aging": Look("LPM with aging", _DARK_PINK, _DOTTED, "p"),
    "srpt": Look("SRPT", _PALETTE[3], _DOUBLE_DOT, "*"),
    "fairway": Look("Fairway", _PALETTE[0], _SOLID, "o", width=2.0),
    "fairway-absolute": Look("Fairway, absolute wait", _PALETTE[0], _DASHED, "h"),
    "fairway-nofair": Look("Fairway, no fair lane", _PALETTE[0], _DOTTED, "H"),
    "fairway-absolute-nofair": Look("Fairway, neither", _PALETTE[0], _DASH_DOT, "8"),
}


def look(policy: str) -> Look:
    """Return a policy's look; one that the artifact does not ship is drawn in black under its own name."""
    return _LOOKS.get(policy, Look(wording.policy(policy), "#000000", _SOLID, "."))


@contextmanager
def house_style() -> Iterator[None]:
    """Draw with these settings and nothing of the machine's own."""
    with mpl_style.context(_SETTINGS, after_reset=True):
        yield


def provenance(results: list[Result], missing: str = "", phase_of: Callable[[str], str | None] = _any_phase) -> str:
    """Say in a few lines what a figure rests on: n, refused, seeds, corpus; evidence and profile; what is missing."""
    chosen = {result.workload: (result, Selection(phase_of(result.workload))) for result in reversed(results)}
    pools = [TtftPool(*each) for each in chosen.values()]
    served = sum(map(len, pools))
    distinct = sum(len(pool) if pool.distinct is None else pool.distinct for pool in pools)
    different = f"{distinct:,} distinct, " if any(pool.distinct is not None for pool in pools) else ""
    turned_away = sum(refused(*each) for each in chosen.values())
    edited = _distinct(f"{result.workload}/{result.policy}" for result in results if result.edited)
    left_out = _distinct(result.left_out for result in results if result.left_out)
    lines = [
        f"n = {served:,} requests per policy ({different}{turned_away:,} refused), "
        f"{_distinct(result.sample for result in results)} pooled; {_distinct(r.corpus for r in results)} corpus",
        _distinct(f"{result.evidence} ({result.profile})" for result in results),
        *([f"not counted: {left_out}"] if left_out else []),
        *([f"not there: {missing}"] if missing else []),
        *([f"EDITED after it was written: {edited}"] if edited else []),
    ]
    return "\n".join(lines)


def add_provenance(
    figure: Figure,
    results: list[Result],
    missing: str = "",
    remark: str = "",
    phase_of: Callable[[str], str | None] = _any_phase,
) -> float:
    """Write at the bottom what the figure rests on and what is missing, below a remark; return its height, inches.

    ``phase_of`` says of which phase of a workload the figure shows requests; None is all after the warm-up.
    """
    width = round(figure.get_figwidth() * _LETTERS_PER_IN)
    given = [*([remark] if remark else []), *provenance(results, missing, phase_of).splitlines()]
    lines = [line for text in given for line in _even_lines(text, width)]
    figure.text(0.5, 0.04 / figure.get_figheight(), "\n".join(lines), ha="center", va="bottom", color="#444444")
    return 0.04 + len(lines) * _LINE_IN


def _even_lines(text: str, width: int) -> list[str]:
    """Break a text into as few lines of at most ``width`` letters as it needs, about as long as each other."""
    lines = textwrap.wrap(text, width, break_on_hyphens=False)
    for narrower in range(width - 1, 0, -1):
        broken = textwrap.wrap(text, narrower, break_on_hyphens=False)
        if len(broken) > len(lines):
            break
        lines = broken
    return lines


def _distinct(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))


def label_decades(axis: Axis) -> None:
    """Label a logarithmic axis with plain numbers: at 1, 2 and 5 of a decade, at more on an axis of less than one."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=next(steps for spans, steps in _LOG_TICKS if high >= spans * low)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def label_apart(axis: Axis, apart: float) -> None:
    """Label a logarithmic axis as densely as keeps labels a share of it apart; thousands are k, millions M."""
    low, high = axis.get_view_interval()
    least = apart * math.log10(high / low)
    decades, steps = next((each for each in _STEPS_APART if _closest(*each) >= least), (math.ceil(least), (1.0,)))
    axis.set_major_locator(LogLocator(base=10.0**decades, subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _in_thousands(value)))
    axis.set_minor_locator(NullLocator())


def _closest(decades: int, steps: tuple[float, ...]) -> float:
    """Return the smallest distance between two labels, in decades."""
    return min(math.log10(after / before) for before, after in pairwise((*steps, 10.0**decades)))


def _in_thousands(value: float) -> str:
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"


def label_panel(axes: Axes, title: str) -> None:
    """Title a panel at its left."""
    axes.set_title(title, loc="left", fontsize=9)


def save(figure: Figure, pdf: Path, svg: Path) -> None:
    """Write both vector files, atomically, without dates, and sealed."""
    for path, kind in ((pdf, "pdf"), (svg, "svg")):
        with atomic_path(path) as part:
            figure.savefig(part, format=kind, metadata=_METADATA[kind])
            seal(part, kind)

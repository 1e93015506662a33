"""Simulated beside measured: the same trace, the same policy, and how far repeats of the measurement lie apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
import numpy.typing as npt

from fairway.analysis import markdown
from fairway.analysis.tables import read_table, write_table
from fairway.errors import InputError
from fairway.rows import MEASUREMENT, edited_files, order_statistic, read_requests, read_runs

HIT_RATE = "hit rate"
OVERHEAD = "lone requests: beyond their steps, ms"
LONE_SLOWNESS = "lone requests: steps over the profile's"
SLOWNESS = "steps over the profile's"
TOLERANCES = {"p50": 0.05, "p99": 0.10, HIT_RATE: 0.005}  # shares; the hit rate's are points
WARM_UP = "warm-up"
_MOST_SLOWNESS = 100.0  # beyond, the profile is another device's
_NS_PER_S = 1e9
_MEASURE = "run make measured, which measures it again"
_REMEASURE = f"delete it and {_MEASURE}"
_COMPARE = "run make measured, which compares again"
_ABOUT = ("device", "model", "versions")
_NAMES = ("workload", "policy", "figure", "edited", "tolerance", "agrees", "difference", "difference_at_speed")
_VALUES = ("simulated", "measured", "lowest", "highest", "repeats", "simulated_at_speed")


@dataclass(frozen=True)
class Figures:
    """One run: TTFT in seconds after the warm-up, and the hit rate of all its prompt tokens."""

    p50_s: float
    p99_s: float
    hit_rate: float

    def later(self, by_s: float) -> Figures:
        """Return the figures with so much more TTFT."""
        return Figures(self.p50_s + by_s, self.p99_s + by_s, self.hit_rate)

    def named(self) -> Mapping[str, float]:
        """Return the figures under the names of their tolerances."""
        return {"p50": self.p50_s, "p99": self.p99_s, HIT_RATE: self.hit_rate}


def figures(folder: Path) -> Figures:
    """Return the figures of one folder of rows; raises `InputError` if nothing in it was served after the warm-up."""
    rows = read_requests(folder).to_pydict()
    ttft_ns = _column(
        first - arrival
        for first, arrival, phase in zip(rows["first_token_ns"], rows["arrival_ns"], rows["phase"], strict=True)
        if first is not None and phase != WARM_UP
    )
    if not len(ttft_ns):
        raise InputError("nothing was served after the warm-up", file=folder, remedy="measure a longer trace")
    runs = read_runs(folder).to_pydict()
    return Figures(
        order_statistic(ttft_ns, 50) / _NS_PER_S,
        order_statistic(ttft_ns, 99) / _NS_PER_S,
        sum(runs["hit_tokens"]) / sum(runs["prompt_tokens"]),
    )


def compare_all(simulated: Sequence[Path], at_speed: Sequence[Path], measured: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the rows of `compare` for every folder in ``simulated``.

    Folders end in ``<workload>/<policy>``, those at speed and measured in ``<repeat>/<workload>/<policy>``.

    Raises:
        InputError: a folder lacks its counterpart, or as `compare`.
    """
    rows = []
    for folder in simulated:
        name = folder.parts[-2:]
        repeats = [one for one in measured if one.parts[-2:] == name]
        if len(name) < 2 or not repeats:
            raise InputError(
                "no measured rows of the same workload and policy are given", remedy="give both", file=folder
            )
        rows += compare(name[0], name[1], folder, [_at_speed_of(one, at_speed) for one in repeats], repeats)
    return rows


def _at_speed_of(repeat: Path, at_speed: Sequence[Path]) -> Path:
    """Return the rows that were simulated at a repeat's speed."""
    found = [one for one in at_speed if one.parts[-3:] == repeat.parts[-3:]]
    if len(found) != 1:
        raise InputError(
            f"{len(found)} folders of rows simulated at its speed are given", remedy="give one", file=repeat
        )
    return found[0]


def compare(
    workload: str, policy: str, simulated: Path, at_speed: Sequence[Path], measured: Sequence[Path]
) -> list[dict[str, Any]]:
    """Return a row a figure: simulated, the measurements' median, lowest and highest, and whether they agree.

    A simulation knows no HTTP: what lone requests took beyond their steps is added to its TTFT. ``at_speed`` are rows
    that are simulated anew for each repeat, with the profile's steps as slow as the server's own were in it: what that
    explains of a difference, the device's speed does, and that HTTP and the client work beside it; the median over the
    repeats of what is left stands there. Where several tokens were generated, what only a server shows follows: time
    between tokens, tokens a second. ``edited`` names the files that were edited after they were written.

    Raises:
        InputError: rows are missing, or measured rows are not of the simulated traces.
    """
    for place, folder in enumerate(measured):
        _refuse_other_traces(simulated, folder)
        if folder.resolve() in [other.resolve() for other in measured[:place]]:
            raise InputError("is given twice, and is one repeat", remedy="give each repeat once", file=folder)
    facts = [_facts(folder / MEASUREMENT) for folder in measured]
    repeats = [figures(folder).named() for folder in measured]
    overheads_s = [one[OVERHEAD] / 1e3 for one in facts]
    said = figures(simulated).later(median(overheads_s)).named()
    explained = [
        figures(folder).later(overhead_s).named() for folder, overhead_s in zip(at_speed, overheads_s, strict=True)
    ]
    rows = [
        _row(name, [one[name] for one in repeats], said[name], [one[name] for one in explained]) for name in TOLERANCES
    ]
    rows += [_row(name, [one[name] for one in facts]) for name in facts[0]]
    checked = [(folder, edited_files(folder)) for folder in (simulated, *at_speed, *measured)]
    edited = "; ".join(f"{', '.join(files)} of {folder}" for folder, files in checked if files)
    return [{"workload": workload, "policy": policy, "edited": edited, **row} for row in rows]


def _row(
    figure: str, measured: Sequence[float], simulated: float | None = None, at_speed: Sequence[float] = ()
) -> dict[str, Any]:
    middle = median(measured)
    row = {
        "figure": figure,
        "simulated": simulated,
        "measured": middle,
        "lowest": min(measured),
        "highest": max(measured),
        "repeats": len(measured),
        "difference": None,
        "tolerance": TOLERANCES.get(figure),
        "agrees": None,
        "simulated_at_speed": None,
        "difference_at_speed": None,
    }
    if simulated is not None:
        difference = _difference(figure, simulated, middle)
        row |= {
            "difference": difference,
            "agrees": abs(difference) <= TOLERANCES[figure],
            "simulated_at_speed": median(at_speed),
            "difference_at_speed": median(_difference(figure, *pair) for pair in zip(at_speed, measured, strict=True)),
        }
    return row


def _difference(figure: str, simulated: float, measured: float) -> float:
    return simulated - measured if figure == HIT_RATE else simulated / measured - 1


def _facts(file: Path) -> dict[str, float]:
    """Return what is measured beyond the rows, the mean over the runs of a file; of tokens where several came."""
    runs = read_table(file, frozenset({"runs"}), _MEASURE)["runs"]
    try:
        found = {
            OVERHEAD: fmean(run["lone_requests"]["overhead_ms"] for run in runs),
            LONE_SLOWNESS: fmean(run["lone_requests"]["slowness"] for run in runs),
            SLOWNESS: fmean(run["steps"]["seconds"] / run["steps"]["profile_seconds"] for run in runs),
            "client late p99, ms": fmean(run["client_late_ms"]["p99"] for run in runs),
        }
        if all(run["token_gap_ms"] for run in runs):
            found |= {
                "time between tokens p50, ms": fmean(run["token_gap_ms"]["p50"] for run in runs),
                "time between tokens p99, ms": fmean(run["token_gap_ms"]["p99"] for run in runs),
                "tokens a second": fmean(run["tokens_per_s"] for run in runs),
            }
    except (ArithmeticError, KeyError, TypeError, ValueError) as error:
        raise InputError("has no runs as scripts/measure.py writes them", remedy=_REMEASURE, file=file) from error
    return found


def _commits(file: Path) -> set[str]:
    runs = read_table(file, frozenset({"runs"}), _MEASURE)["runs"]
    try:
        return {str(run["commit"]) for run in runs}
    except (KeyError, TypeError) as error:
        raise InputError("has no commits of its runs", remedy=_REMEASURE, file=file) from error


def measured_folders(file: Path) -> list[Path]:
    """Return the folders of measured rows that a list of scripts/measure.py names."""
    folders = read_table(file, frozenset({"folders"}), _MEASURE)["folders"]
    if not isinstance(folders, list) or not folders or not all(isinstance(folder, str) for folder in folders):
        raise InputError("names no folders of measured rows", remedy=_REMEASURE, file=file)
    return [Path(folder) for folder in folders]


def slowness(measurement: Path) -> float:
    """Return how long steps took over what the profile says of the same steps, by a measurement beside its rows."""
    value = _facts(measurement)[SLOWNESS]
    if not 1 / _MOST_SLOWNESS <= value <= _MOST_SLOWNESS:
        raise InputError(f"steps took {value} times their time", remedy=_REMEASURE, file=measurement)
    return value


def write_comparison(rows: Sequence[Mapping[str, Any]], about: Mapping[str, Any], folder: Path, name: str) -> None:
    """Write the rows as JSON, CSV and Markdown; ``about`` says on what they were measured."""
    versions = ", ".join(f"{package} {version}" for package, version in about["versions"].items())
    head = (
        f"Measured on {about['device']} with {about['model']} ({versions}), beside the simulation with the profile "
        "that was measured on it. TTFT in seconds after the warm-up; the simulation's has what lone requests took "
        "beyond their steps (HTTP, the client). Lowest and highest are those of the repeats. At speed: simulated "
        "again for each repeat, with the profile's steps as slow as the server's own were in it; the median of the "
        "repeats' differences stands beside the median of these simulations."
    )
    lines = markdown.table(
        (
            "Workload",
            "Policy",
            "Figure",
            "Simulated",
            "Measured",
            "Lowest",
            "Highest",
            "Repeats",
            "Difference",
            "Agrees",
            "At speed",
            "Difference at speed",
        ),
        (_cells(row) for row in rows),
    )
    write_table(folder, name, {**about, "rows": list(rows)}, f"{head}\n\n{lines}\n")


def about(measured: Sequence[Path]) -> dict[str, Any]:
    """Return on what folders of rows were measured, by the first, and the commits that they were measured at."""
    file, *_ = files = [folder / MEASUREMENT for folder in measured]
    facts = read_table(file, frozenset(_ABOUT), _MEASURE)
    if not isinstance(facts["versions"], dict):
        raise InputError("versions are no table", remedy=_REMEASURE, file=file)
    return {**{key: facts[key] for key in _ABOUT}, "commits": sorted({one for file in files for one in _commits(file)})}


def read_comparison(file: Path) -> Mapping[str, Any]:
    """Read a table of `write_comparison`; InputError if it is missing, edited, another one or has no rows."""
    table = read_table(file, frozenset({"rows", "commits", *_ABOUT}), _COMPARE)
    rows = table["rows"]
    is_about = isinstance(table["versions"], dict) and isinstance(table["commits"], list)
    if not is_about or not isinstance(rows, list) or not all(map(_is_row, rows)):
        raise InputError("is no table of scripts/compare_measured.py", remedy=_COMPARE, file=file)
    if not any(row["tolerance"] is not None for row in rows):
        raise InputError("has no rows", remedy=_COMPARE, file=file)
    return table


def _is_row(row: Any) -> bool:
    """Say whether a line of a table has what `compare` gives each; only one with a tolerance was simulated as well."""
    if not isinstance(row, dict) or not {*_NAMES, *_VALUES} <= row.keys():
        return False
    if not all(isinstance(row[name], str) for name in ("workload", "policy", "figure", "edited")):
        return False
    numbers = _VALUES if row["tolerance"] is not None else ("measured", "lowest", "highest", "repeats")
    if not all(isinstance(row[name], int | float) for name in numbers):
        return False
    return bool(row["lowest"] <= row["measured"] <= row["highest"])


def _cells(row: Mapping[str, Any]) -> list[str]:
    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.3g}" if row["figure"] != HIT_RATE else f"{value:.1%}"

    def share(value: float | None) -> str:
        return "-" if value is None else f"{value:+.1%}"

    return [
        row["workload"],
        f"{row['policy']} (edited)" if row["edited"] else row["policy"],
        row["figure"],
        *(number(row[name]) for name in ("simulated", "measured", "lowest", "highest")),
        str(row["repeats"]),
        share(row["difference"]),
        {None: "-", True: "yes", False: "no"}[row["agrees"]],
        number(row["simulated_at_speed"]),
        share(row["difference_at_speed"]),
    ]


def _refuse_other_traces(simulated: Path, measured: Path) -> None:
    traces = [sorted(read_runs(folder).to_pydict()["trace_sha256"]) for folder in (simulated, measured)]
    if traces[0] != traces[1]:
        raise InputError(
            f"was measured on other traces than those simulated in {simulated}",
            file=measured,
            remedy="simulate and measure the same traces",
        )


def _column(values: Any) -> npt.NDArray[np.int64]:
    return np.array(list(values), dtype=np.int64)

"""How tables say numbers, figures and what is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

_NS_PER_S = 1e9
_MOST_NAMED = 3  # longer lists are counted instead
_EDITED = ", EDITED after it was written"


def number(value: float) -> str:
    """Three significant digits, but never fewer than the whole part."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def count(rows: int, distinct: int | None) -> str:
    """Say how many rows there are, and how many different requests where one was replayed several times."""
    return f"{rows:,}" if distinct is None else f"{rows:,} ({distinct:,} distinct)"


def requests(rows: int, distinct: int | None) -> str:
    """Say how many requests there are, as ``count`` does."""
    return f"{rows:,} requests" if distinct is None else f"{rows:,} requests ({distinct:,} distinct)"


def bounded(point: float, low: float | None, high: float | None) -> str:
    """Say a number with its interval, if it has one."""
    return number(point) if low is None or high is None else f"{number(point)} [{number(low)}, {number(high)}]"


def policy(name: str) -> str:
    """Say a policy's name in a table; of PEEK only a description is public, so that ours is but like it is said."""
    return f"{name} (PEEK-like)" if re.split(r"[-+]", name)[0] == "peek" else name


def unfinished_fit(measurement: Mapping[str, Any]) -> str:
    """Say that a measured profile's fit stopped early; nothing where it did not."""
    is_best = measurement.get("fit_is_best", True)
    return "" if is_best else "the fit ended before it was the closest to the measured steps"


def rests_on(evidence: str, *, edited: bool) -> str:
    """Say what a line rests on, and that it is not as it was written where a result of it was edited."""
    return f"{evidence}{_EDITED}" if edited else evidence


def together(evidence: Iterable[str]) -> str:
    """Say what the lines of a table rest on, each evidence once."""
    return "; ".join(dict.fromkeys(evidence))


def marked(name: str, evidence: str) -> str:
    """Mark the name of a line whose evidence says that a result of it was edited."""
    return f"{name} (edited)" if _EDITED in evidence else name


def figure(name: str, values: Sequence[float | int | str]) -> str:
    """Say a named figure, equal values once; a name ends in ``_s`` for seconds, ``_pct`` for per cent."""
    words = ", ".join(dict.fromkeys(value if isinstance(value, str) else number(value) for value in values))
    if name == "says":
        return words
    label, unit = _unit(name)
    return f"{label.replace('_', ' ')} {words}{unit}"


def figure_range(name: str, low: float, high: float) -> str:
    """Say where a named figure lies, as `figure` says its values."""
    ends = list(dict.fromkeys(map(number, (low, high))))
    return figure(name, [" to ".join(ends)])


def amount(name: str, value: float) -> str:
    """Say a named figure's number with its unit, without its name."""
    return f"{number(value)}{_unit(name)[1]}"


def sides(check: Mapping[str, Any]) -> str:
    """Say both sides of a check, or whether it is true if it is no plain comparison; a dash if that is not known."""
    if check["left"] is None or check["right"] is None:
        return "-" if check["point"] is None else str(check["point"]).lower()
    return f"{number(check['left'])} {check['sign']} {number(check['right'])}"


def extrapolated(share: float) -> str:
    """Say what share of the computed tokens has step times from outside the profile's measured range."""
    return f"{100 * share:.1f}% of prefill tokens extrapolated"


def paper(facts: Mapping[str, Any]) -> str:
    """Say the paper's figures in one line."""
    return "; ".join(figure(name, value if isinstance(value, list) else [value]) for name, value in facts.items())


def moved(name: str, old: int | str | None, new: int | str | None) -> str:
    """Say how a sealed value moved; a name ends in ``_ns`` for nanoseconds, which are said as seconds."""
    label = name.removesuffix("_ns").removeprefix("requests: ttft: ")
    sides = [_side(value, name, number) for value in (old, new)]
    if sides[0] == sides[1]:  # all digits where the first ones are the same
        sides = [_side(value, name, repr) for value in (old, new)]
    return f"{label} {sides[0]} -> {sides[1]}"


def _side(value: int | str | None, name: str, digits: Callable[[float], str]) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool | str):
        return str(value).lower() if isinstance(value, bool) else value
    return f"{digits(value / _NS_PER_S)} s" if name.endswith("_ns") else digits(value)


def needs(missing: Iterable[str]) -> str:
    """Say what is missing, grouped: ``policies lpm, preble; workload sec-dynamic-b``."""
    by_kind: dict[str, list[str]] = {}
    for entry in missing:
        kind, _, name = entry.partition(" ")
        by_kind.setdefault(kind, []).append(policy(name) if kind == "policy" else name)
    return "; ".join(_group(kind, names) for kind, names in by_kind.items())


def names(listed: Sequence[str], what: str) -> str:
    """List a few names, count many."""
    return ", ".join(listed) if len(listed) <= _MOST_NAMED else f"{len(listed)} {what}"


def _group(kind: str, listed: Sequence[str]) -> str:
    if len(listed) == 1:
        return f"{kind} {listed[0]}"
    plural = {"policy": "policies", "data": "data"}.get(kind, f"{kind}s")
    return f"{plural} {', '.join(listed)}" if len(listed) <= _MOST_NAMED else f"{len(listed)} {plural}"


def _unit(name: str) -> tuple[str, str]:
    """Return a figure's name without the suffix that tells its unit, and the unit."""
    for suffix, unit in (("_s", " s"), ("_pct", "%")):
        if name.endswith(suffix):
            return name.removesuffix(suffix), unit
    return name, ""


def selected(phase: str, prompts: str, kind: str) -> str:
    """Return which requests are meant; each part may be "all"."""
    labels = {"": phase, " prompts": prompts, " requests": kind}
    return ", ".join(f"{value}{what}" for what, value in labels.items() if value != "all") or "all"


def ranges(numbers: Sequence[int]) -> str:
    """Say ascending whole numbers, runs of them by their ends: ``1 to 19, 1020``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)

"""What was measured on one device, for readers: a paragraph, a figure, a table a stage."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from fairway.analysis import markdown, wording
from fairway.analysis.measured import HIT_RATE, OVERHEAD, SLOWNESS, TOLERANCES
from fairway.analysis.tables import read_table
from fairway.errors import InputError

_WIDTH = 120
_MEASURE = "run make measured, which measures it again"
_REMEASURE = f"delete it and {_MEASURE}"
_TOKENS = ("time between tokens p50, ms", "time between tokens p99, ms", "tokens a second")

Table = Mapping[str, Any]


def refuse_edited(tables: Sequence[Table]) -> None:
    """Raise `InputError` if a line of the tables rests on a file that was edited after it was written."""
    edited = sorted({row["edited"] for table in tables for row in table["rows"] if row["edited"]})
    if edited:
        raise InputError(
            f"edited after it was written: {'; '.join(edited)}", remedy="delete it and run make measured again"
        )


def read_measurement(file: Path) -> Table:
    """Read a measured profile for `measured_page`; `InputError` if it is missing, edited or not a measured one."""
    profile = read_table(file, frozenset({"measurement"}), _MEASURE)
    try:
        _profile_words(profile)
        _settings_words(profile)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError("is no profile of scripts/measure_profile.py", remedy=_REMEASURE, file=file) from error
    return profile


def measured_summary(name: str, tables: Sequence[Table], folder: str) -> str:
    """Return what another page says about the measurements called ``name``, which are kept in ``folder``."""
    agreement = _agreement([row for table in tables for row in table["rows"]])
    where = f"[Figures and tables]({folder}/README.md)."
    return _wrapped(f"**{name}, measured.** {_device(tables[0])}. {agreement} {where}")


def measured_page(name: str, tables: Sequence[Table], profile: Mapping[str, Any], seeds: int, figure: str) -> str:
    """Return the page about the measurements called ``name``.

    ``tables`` are documents of scripts/compare_measured.py, ``profile`` a measured profile's, ``seeds`` how many traces
    of a workload were replayed, ``figure`` where the page finds the picture.
    """
    return "\n\n".join(
        [
            f"# {name}, measured",
            _wrapped(_setting(tables[0], profile, seeds)),
            _wrapped(_profile_words(profile)),
            _wrapped(_agreement([row for table in tables for row in table["rows"]])),
            f"![TTFT, simulated and measured]({figure})",
            "[The profile's residuals](profile.svg).",
            markdown.table(("Workload", "Policy", *TOLERANCES), list(_ttft_rows(tables))),
            "Where several tokens are generated:",
            markdown.table(("Workload", "Policy", *_TOKENS), list(_token_rows(tables))),
            _wrapped(
                "What lone requests say of HTTP, and each policy's steps of its server's speed, stands in the tables "
                "beside this page. Reasons for differences: [measuring](../../measuring.md)."
            ),
        ]
    )


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _device(table: Table) -> str:
    versions = ", ".join(f"{package} {version}" for package, version in table["versions"].items())
    return f"{table['device']}, {table['model']} with made-up weights, {versions}"


def _setting(table: Table, profile: Mapping[str, Any], seeds: int) -> str:
    repeats = min(row["repeats"] for row in table["rows"])
    commits = ", ".join(map(str, table["commits"]))
    return (
        f"{_device(table)} {_settings_words(profile)}, runs at {commits}. Traces of each workload: {seeds}; repeats "
        f"of each under each policy, in turn with the others: {repeats}; in brackets the lowest and the highest."
    )


def _settings_words(profile: Mapping[str, Any]) -> str:
    settings = ", ".join(f"{key} {value}" for key, value in profile["measurement"]["settings"].items())
    measurement = profile["measurement"]
    return f"({settings}); profile of {measurement['date']} at commit {measurement['commit']}"


def _profile_words(profile: Mapping[str, Any]) -> str:
    rows = profile["measurement"]["fitted"]
    held_out, fitted = (
        [abs(row["residual_share"]) for row in found] for found in (profile["measurement"]["held_out"], rows)
    )
    worst_tokens = sum(new for new, _ in max(rows, key=lambda row: abs(row["residual_share"]))["chunks"])
    unfinished = wording.unfinished_fit(profile["measurement"])
    return (
        f"The profile is off by {median(held_out):.1%} in the median and by {max(held_out):.1%} at worst of "
        f"{len(held_out)} random steps that it was not fitted to, and by {median(fitted):.1%} and {max(fitted):.1%} "
        f"(a step of {worst_tokens:,} tokens) of the {len(fitted)} that it was fitted to; the reference step's time "
        f"drifted by {profile['measurement']['drift']['ratio'] - 1:+.1%}."
        + (f" Warning: {unfinished}." if unfinished else "")
    )


def _agreement(rows: Sequence[Table]) -> str:
    held = [row for row in rows if row["tolerance"] is not None]
    agree = {name: [row["agrees"] for row in held if row["figure"] == name] for name in TOLERANCES}
    p50, p99, hit_rate = (f"{sum(found)} of {len(found)}" for found in agree.values())
    times = [row for row in held if row["figure"] != HIT_RATE]
    at_speed = sum(abs(row["difference_at_speed"]) <= row["tolerance"] for row in times)
    overhead = [row["measured"] for row in rows if row["figure"] == OVERHEAD]
    slow = [row["measured"] for row in rows if row["figure"] == SLOWNESS]
    return (
        f"With the simulation agree {p50} medians (within 5%), {p99} p99 (within 10%) and {hit_rate} hit rates (within "
        f"half a point). In the median of a policy's repeats, lone requests took {min(overhead):.0f} to "
        f"{max(overhead):.0f} ms beyond steps (HTTP and the client; the simulation's TTFT has it added), and the "
        f"servers' steps {min(slow):.2f} to {max(slow):.2f} times what the profile says of the same steps; simulated "
        f"at each run's speed, {at_speed} of {len(times)} medians and p99 agree."
    )


def _ttft_rows(tables: Sequence[Table]) -> Iterable[tuple[str, ...]]:
    for (workload, policy), rows in _by_run(tables).items():
        yield workload, wording.policy(policy), *(_cell(rows[name], name) for name in TOLERANCES)


def _token_rows(tables: Sequence[Table]) -> Iterable[tuple[str, ...]]:
    for (workload, policy), rows in _by_run(tables).items():
        if _TOKENS[0] in rows:
            yield workload, wording.policy(policy), *(_spread(rows[name], name) for name in _TOKENS)


def _by_run(tables: Sequence[Table]) -> dict[tuple[str, str], dict[str, Table]]:
    found: dict[tuple[str, str], dict[str, Table]] = {}
    for row in (row for table in tables for row in table["rows"]):
        found.setdefault((row["workload"], row["policy"]), {})[row["figure"]] = row
    return found


def _cell(row: Table, name: str) -> str:
    agrees = "agrees" if row["agrees"] else f"differs by {row['difference']:+.1%}"
    return f"simulated {_number(row['simulated'], name)}, measured {_spread(row, name)}: {agrees}"


def _spread(row: Table, name: str) -> str:
    lowest, highest = (_number(row[end], name) for end in ("lowest", "highest"))
    return f"{_number(row['measured'], name)} ({lowest} to {highest})"


def _number(value: float, name: str) -> str:
    if name == HIT_RATE:
        return f"{value:.1%}"
    return f"{value:.2f} s" if name in TOLERANCES else f"{value:.1f}"

"""What the configuration says should exist, held against what lies on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairway import jsontext
from fairway.analysis.collection import Key
from fairway.analysis.results import Result, read_result, result_folder
from fairway.errors import InputError
from fairway.files import COPY, is_sealed, without_seal
from fairway.rows import FILE_NAMES, Move, SealCheck, verify_seal

_EXACT_REMEDY = "run scripts/check_exact.py again"


@dataclass(frozen=True)
class Group:
    """Workloads that should each have a result of each policy, with so many seeds."""

    workloads: tuple[str, ...]
    policies: tuple[str, ...]
    seeds: int

    @property
    def keys(self) -> list[Key]:
        """Every (workload, policy) of the group."""
        return [(workload, policy) for workload in self.workloads for policy in self.policies]


@dataclass(frozen=True)
class Expected:
    """Results that should lie below ``rows_root``, and ``exact``. The first group is the one that tables speak of."""

    rows_root: Path
    groups: tuple[Group, ...]
    exact: Path


def parse_group(text: str) -> Group:
    """Read ``WORKLOAD,...:POLICY,...:SEEDS``; InputError if it is none."""
    workloads, _, rest = text.partition(":")
    policies, _, seeds = rest.partition(":")
    if not workloads or not policies or not seeds.isdecimal():
        raise InputError(
            f"{text!r} is no WORKLOAD,...:POLICY,...:SEEDS", remedy="write it like sweep-01,sweep-02:fcfs,fairway:3"
        )
    return Group(tuple(workloads.split(",")), tuple(policies.split(",")), int(seeds))


@dataclass(frozen=True)
class ExactCheck:
    """Outcome of an executable check of a property."""

    holds: bool
    detail: str
    cases: int


@dataclass(frozen=True)
class Inputs:
    """Results by (workload, policy) and exact checks by claim; what of them is not on disk; what was edited."""

    results: Mapping[Key, Result]
    exact: Mapping[str, ExactCheck]
    absent: Mapping[Key, str]
    exact_absent: str
    exact_edit: SealCheck
    edits: Mapping[Key, SealCheck]


def gather(expected: Expected) -> Inputs:
    """Read all expected results and verify their seals.

    Raises:
        InputError: a file is unreadable, or the policies of one workload ran different seeds.
    """
    results: dict[Key, Result] = {}
    absent: dict[Key, str] = {}
    edits: dict[Key, SealCheck] = {}
    for key, seeds in [(key, group.seeds) for group in expected.groups for key in group.keys]:
        gone = _absent_files(expected.rows_root, key)
        if gone:
            absent[key] = gone
            continue
        check = verify_seal(result_folder(expected.rows_root, *key))
        if check.edited:
            edits[key] = check
        result = read_result(expected.rows_root, *key)
        if len(result.seeds) < seeds:
            absent[key] = f"{'/'.join(key)}: {seeds - len(result.seeds)} of {seeds} seeds"
            continue
        results[key] = result
    _check_paired(results)
    exact_there = expected.exact.is_file()
    exact, exact_edit = read_exact(expected.exact) if exact_there else ({}, SealCheck((), ()))
    return Inputs(
        results=results,
        exact=exact,
        absent=absent,
        exact_absent="" if exact_there else expected.exact.name,
        exact_edit=exact_edit,
        edits=edits,
    )


def read_exact(path: Path) -> tuple[dict[str, ExactCheck], SealCheck]:
    """Read the outcomes of the exact checks by claim, and whether and how the file was edited.

    Raises:
        InputError: the file is not what check_exact writes.
    """
    try:
        raw = jsontext.parse(path.read_text(encoding="utf-8"))
        outcomes = without_seal(raw)
        copy = outcomes.pop(COPY, {})
        edit = SealCheck((), ()) if is_sealed(raw) else SealCheck((path.name,), _moved(copy, outcomes))
        return {name: _exact_check(value) for name, value in outcomes.items()}, edit
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", remedy=_EXACT_REMEDY, file=path, line=error.lineno) from error
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise InputError("not the results of the exact checks", remedy=_EXACT_REMEDY, file=path) from error


def _exact_check(raw: Mapping[str, object]) -> ExactCheck:
    holds, detail, cases = raw["holds"], raw["detail"], raw["cases"]
    if not isinstance(holds, bool) or not isinstance(cases, int):
        raise TypeError
    return ExactCheck(holds, str(detail), cases)


def _moved(old: Mapping[str, Mapping[str, Any]], new: Mapping[str, Mapping[str, Any]]) -> tuple[Move, ...]:
    """Say which values of the outcomes differ."""
    places = [(claim, name) for claim in {**old, **new} for name in {**old.get(claim, {}), **new.get(claim, {})}]
    pairs = [(f"{claim}: {name}", old.get(claim, {}).get(name), new.get(claim, {}).get(name)) for claim, name in places]
    return tuple(Move(place, before, after) for place, before, after in pairs if before != after)


def _absent_files(rows_root: Path, key: Key) -> str:
    folder = result_folder(rows_root, *key)
    return ", ".join(f"{'/'.join(key)}/{name}" for name in FILE_NAMES if not (folder / name).is_file())


def _check_paired(results: Mapping[Key, Result]) -> None:
    first: dict[str, Result] = {}
    for result in results.values():
        other = first.setdefault(result.workload, result)
        if other.seeds != result.seeds:
            raise InputError(
                f"{result.policy} and {other.policy} ran different seeds on {result.workload}",
                remedy="replay both from the same traces",
            )

"""A fresh run against a kept reference: which claims changed their verdict, which values moved, and by how much."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairway.analysis import wording
from fairway.analysis.claims_table import edit_words
from fairway.analysis.summary import PAGES_BESIDE
from fairway.analysis.tables import Document

# The texts that a table was rendered as, by checksum, marks of edited results, which are told by themselves, and what
# was measured elsewhere and stands beside a run's own answers.
_NO_VALUES = ("pages", "edited", "edits", "measured")
# What names a row that has no id.
_NAMES = ("claim", "workload", "variant", "policy", "other", "phase", "prompts", "kind", "check", "name")

Path = tuple[str, ...]


@dataclass(frozen=True)
class Moved:
    """A value that is another one than in the reference; None where there is none."""

    where: Path  # table, row, key
    reference: Any
    fresh: Any

    @property
    def by(self) -> float:
        """How far it moved, relative to the reference; infinite for what is no number."""
        if not (_is_number(self.reference) and _is_number(self.fresh)):
            return float("inf")
        return abs(self.fresh - self.reference) / abs(self.reference) if self.reference else float("inf")

    def __str__(self) -> str:
        change = f" ({100 * (self.fresh / self.reference - 1):+.3g}%)" if self.by < float("inf") else ""
        return f"{' / '.join(self.where)}: {_text(self.reference)} -> {_text(self.fresh)}{change}"


@dataclass(frozen=True)
class Comparison:
    """What a fresh run's tables say otherwise than the reference's."""

    verdicts: list[Moved]
    values: list[Moved]
    compared: int
    edited: list[str]  # results of the fresh run, with what moved in them

    @property
    def agrees(self) -> bool:
        """Whether there is no difference at all, and nothing that was edited."""
        return not self.verdicts and not self.values and not self.edited


def compare_with_reference(reference: Document, fresh: Document) -> Comparison:
    """Hold the tables of a run against those of a reference, value by value and without any tolerance.

    Args:
        reference: tables by name, as in ``reference.json``.
        fresh: tables by name, as in ``summary.json``.
    """
    ours = {name: table for name, table in reference.items() if name not in PAGES_BESIDE}
    pairs = list(_pairs((), ours, dict(fresh)))
    moved = [Moved(where, old, new) for where, old, new in pairs if not _is_same(old, new)]
    verdicts = [one for one in moved if one.where[:2] == ("claims", "claims") and one.where[-1] == "verdict"]
    values = [one for one in moved if one not in verdicts]
    edited = [edit_words(edit) for edit in fresh.get("claims", {}).get("edited", [])]
    return Comparison(verdicts, sorted(values, key=lambda one: -one.by), len(pairs), edited)


def _is_same(old: Any, new: Any) -> bool:
    if isinstance(old, str) and new == wording.rests_on(old, edited=True):
        return True  # the mark of an edited result, which is told by itself
    return type(old) is type(new) and bool(old == new)


def _pairs(where: Path, old: Any, new: Any) -> Iterator[tuple[Path, Any, Any]]:
    """Yield the values that stand at the same place, with the place; None for one that is on one side alone."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            if key not in _NO_VALUES:
                yield from _pairs((*where, str(key)), old.get(key), new.get(key))
    elif isinstance(old, list) and isinstance(new, list):
        yield from _pairs(where, _by_name(old), _by_name(new))
    else:
        yield where, old, new


def _by_name(rows: Sequence[Any]) -> dict[str, Any]:
    """Name the entries of a list after what they say they are; by their number where that is not one's own."""
    named: dict[str, Any] = {}
    for number, row in enumerate(rows, start=1):
        name = _own_name(row) or f"number {number}"
        named[f"{name}, number {number}" if name in named else name] = row
    return named


def _own_name(row: Any) -> str:
    if not isinstance(row, Mapping):
        return ""
    keys = ["id"] if "id" in row else _NAMES
    return " ".join(row[key] for key in keys if isinstance(row.get(key), str))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: object) -> str:
    if value is None:
        return "nothing"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 100 else f"{text[:97]}..."

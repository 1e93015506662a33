"""Whether two backends decided alike: the same bytes of request and hook rows, or the first row that differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairway import rows
from fairway.analysis.results import result_folder
from fairway.files import sha256, write_sealed
from fairway.rows import RowTable


@dataclass(frozen=True)
class Agreement:
    """How many files were compared, and one line for each that differs."""

    files: int
    differences: tuple[str, ...]


def compare_backends(roots: tuple[Path, Path], workloads: Sequence[str], policies: Sequence[str]) -> Agreement:
    """Compare the request and hook rows below two rows' roots.

    Raises:
        InputError: a file is missing or unreadable.
    """
    places = [(workload, policy) for workload in workloads for policy in policies]
    tables = (rows.REQUESTS, rows.HOOKS)
    found = [_difference(table, roots, *place) for place in places for table in tables]
    return Agreement(len(found), tuple(line for line in found if line is not None))


def write_agreement(agreement: Agreement, path: Path) -> None:
    """Write what was compared and what differs as JSON."""
    write_sealed(path, {"files": agreement.files, "differences": list(agreement.differences)})


def _difference(table: RowTable, roots: tuple[Path, Path], workload: str, policy: str) -> str | None:
    """Say where one table's files differ; None if their bytes are equal."""
    folders = [result_folder(root, workload, policy) for root in roots]
    read = {rows.REQUESTS.name: rows.read_requests, rows.HOOKS.name: rows.read_hooks}[table.name]
    one, other = (read(folder).to_pylist() for folder in folders)
    first, second = (sha256(folder / table.file_name) for folder in folders)
    if first == second:
        return None
    place = f"{workload}, {policy}, {table.file_name}"
    for left, right in zip(one, other, strict=False):
        if left != right:
            key = ", ".join(f"{name} {left[name]}" for name in table.key)
            columns = ", ".join(f"{name} {left[name]} and {right[name]}" for name in left if left[name] != right[name])
            return f"{place}: {key}: {columns}"
    if len(one) != len(other):
        return f"{place}: {len(one)} and {len(other)} rows, of which the shared ones are equal"
    return f"{place}: the rows are equal, the bytes are not"

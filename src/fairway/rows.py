"""The rows of a replay: their schema and their Parquet files, sealed with checksums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fairway import jsontext
from fairway.errors import InputError
from fairway.files import atomic_path, sha256, write_json

SERVED = "served"
UNSERVABLE = "unservable"
REUSE_KNOWN = "known"
REUSE_UNKNOWN = "unknown"  # the trace does not say what its prompts share: hits mean nothing
SEAL = "seal.json"
MEASUREMENT = "measurement.json"  # beside measured rows: on what they were measured, and what rows do not say
REMEDY = "delete its folder and run the workflow again, which replays it"

Columns = Mapping[str, Any]  # one sequence, array or masked array per column, all of one length

_NAME = pa.dictionary(pa.int32(), pa.string())
_RESULT = [pa.field(name, _NAME, nullable=False) for name in ("workload", "policy")]
_BACKEND = pa.field("backend", _NAME, nullable=False)  # of runs only: backends that decide alike give equal bytes


def _integers(*names: str, nullable: bool = False) -> list[pa.Field]:
    return [pa.field(name, pa.int64(), nullable=nullable) for name in names]


def _names(*names: str) -> list[pa.Field]:
    return [pa.field(name, _NAME, nullable=False) for name in names]


@dataclass(frozen=True)
class RowTable:
    """One of the three tables: its file, its columns, and the columns that tell its rows apart."""

    name: str
    schema: pa.Schema
    key: tuple[str, ...]

    @property
    def file_name(self) -> str:
        """Name of the table's file inside a result's folder."""
        return f"{self.name}.parquet"


REQUESTS = RowTable(
    "requests",
    pa.schema(
        [
            *_RESULT,
            *_integers("seed", "request"),
            *_names("kind", "phase"),
            *_integers("arrival_ns"),
            *_integers("start_ns", "first_token_ns", nullable=True),
            *_integers("prompt_tokens"),
            *_integers("hit_tokens", nullable=True),
            *_integers("preemptions"),
            *_names("outcome"),
        ]
    ),
    key=("seed", "request"),
)
HOOKS = RowTable(
    "hooks",
    pa.schema(
        [
            *_RESULT,
            *_integers("seed", "step", "now_ns", "waiting"),
            *_integers("uncached_min", "uncached_p5", "uncached_p50", "uncached_p95", "uncached_max"),
            pa.field("arrival_correlation", pa.float64()),
            pa.field("lpm_correlation", pa.float64()),
        ]
    ),
    key=("seed", "step"),
)
RUNS = RowTable(
    "runs",
    pa.schema(
        [
            _BACKEND,
            *_RESULT,
            *_integers("seed", "cache_blocks", "block_tokens", "requests", "refused", "steps", "busy_ns", "end_ns"),
            *_integers("evicted_blocks", "prompt_tokens", "hit_tokens", "computed_tokens", "extrapolated_tokens"),
            *_integers("preemptions"),
            *_names("evidence", "profile", "profile_evidence", "corpus", "trace_sha256"),
            *_integers("seed_replacements"),
            # Of the recorded trace that the seed replays, null where generated: its window, and what it lost before.
            *_integers("window", "left_out_requests", "left_out_tokens", "of_requests", "of_tokens", nullable=True),
            *_names("left_out", "reuse"),
        ]
    ),
    key=("seed",),
)
TABLES = (REQUESTS, HOOKS, RUNS)
FILE_NAMES = (*(table.file_name for table in TABLES), SEAL)


def write_rows(folder: Path, requests: Columns, hooks: Columns, runs: Columns) -> None:
    """Write one policy's rows on one workload, all seeds together, and seal them.

    Each argument maps every column name of its schema to values of one length; ``None`` or a mask marks a null where
    the schema allows one. Rows are ordered by their key, so equal rows give equal bytes.

    Raises:
        ValueError: a column is missing or unknown, a null where none may be, two rows with one key, or rows of more
            than one result.
    """
    tables = {
        table.name: _to_arrow(table, columns) for table, columns in zip(TABLES, (requests, hooks, runs), strict=True)
    }
    for table in TABLES:
        with atomic_path(folder / table.file_name) as part:
            pq.write_table(tables[table.name], part, compression="zstd", row_group_size=1 << 20, version="2.6")
    write_json(folder / SEAL, {"files": _checksums(folder), "summary": _summarise(tables)})


def read_requests(folder: Path) -> pa.Table:
    """Read ``requests.parquet``; InputError if it is missing, unreadable or of another schema."""
    return _read(REQUESTS, folder)


def read_hooks(folder: Path) -> pa.Table:
    """Read ``hooks.parquet``; InputError if it is missing, unreadable or of another schema."""
    return _read(HOOKS, folder)


def read_runs(folder: Path) -> pa.Table:
    """Read ``runs.parquet``; InputError if it is missing, unreadable or of another schema."""
    return _read(RUNS, folder)


@dataclass(frozen=True)
class Move:
    """One value of a sealed summary that is no longer what it was."""

    name: str
    old: int | str | None
    new: int | str | None


@dataclass(frozen=True)
class SealCheck:
    """Files that differ from their seal, and how the summary's numbers moved (none if only unsummarised cells did)."""

    edited: tuple[str, ...]
    moved: tuple[Move, ...]


def edited_files(folder: Path) -> tuple[str, ...]:
    """Return a result's files that differ from their seal; InputError if a file or the seal cannot be read."""
    seal = _read_seal(folder / SEAL)
    return tuple(name for name, checksum in _checksums(folder).items() if checksum != seal["files"].get(name))


def verify_seal(folder: Path) -> SealCheck:
    """Compare a result's files with their seal; InputError if a file or the seal cannot be read."""
    edited = edited_files(folder)
    if not edited:
        return SealCheck(edited=(), moved=())
    seal = _read_seal(folder / SEAL)
    tables = {table.name: _read(table, folder) for table in TABLES}
    return SealCheck(edited, _moves(_flatten(seal["summary"]), _flatten(_summarise(tables))))


def order_statistic(values: npt.NDArray[Any], percent: int) -> int:
    """Return the percentile of integers by ``inverted_cdf``: the smallest value with that share at or below it."""
    rank = -(-len(values) * percent // 100)
    return int(np.sort(values)[max(rank, 1) - 1])


def _to_arrow(table: RowTable, columns: Columns) -> pa.Table:
    wanted, given = set(table.schema.names), set(columns)
    if wanted != given:
        raise ValueError(f"{table.name}: missing columns {sorted(wanted - given)}, unknown {sorted(given - wanted)}")
    rows = pa.table({name: pa.array(columns[name]) for name in table.schema.names})
    # Sorted before names are encoded: a dictionary lists its names in the order in which it met them.
    rows = _conform(table, rows.sort_by([(name, "ascending") for name in table.key]))
    _check_one_result(table, rows)
    _check_keys(table, rows)
    return rows


def _conform(table: RowTable, rows: pa.Table) -> pa.Table:
    """Cast to the table's schema, also what an editor wrote back with other widths of integers or names."""
    rows = rows.select(table.schema.names).combine_chunks()
    arrays = [_cast(rows[field.name], field.type) for field in table.schema]
    broken = [
        field.name for field, array in zip(table.schema, arrays, strict=True) if _has_forbidden_null(field, array)
    ]
    if broken:
        raise ValueError(f"{table.name}: null in {broken}")
    return pa.Table.from_arrays(arrays, schema=table.schema)


def _cast(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    return column.cast(pa.string()).cast(wanted) if wanted == _NAME else column.cast(wanted)


def _has_forbidden_null(field: pa.Field, column: pa.ChunkedArray) -> bool:
    return not field.nullable and column.null_count > 0


def _check_one_result(table: RowTable, rows: pa.Table) -> None:
    for field in _RESULT:
        if len(rows[field.name].unique()) > 1:
            raise ValueError(f"{table.name}: more than one {field.name} in one file")


def _check_keys(table: RowTable, rows: pa.Table) -> None:
    if rows.select(table.key).group_by(list(table.key)).aggregate([]).num_rows != rows.num_rows:
        raise ValueError(f"{table.name}: two rows with one key {table.key}")


def _read(table: RowTable, folder: Path) -> pa.Table:
    path = folder / table.file_name
    try:
        return _conform(table, pq.read_table(path, partitioning=None, use_threads=False))
    except FileNotFoundError as error:
        raise InputError("rows are missing", remedy="run the workflow, which replays them", file=path) from error
    except KeyError as error:
        raise InputError(f"not the {table.name} table: {error.args[0]}", remedy=REMEDY, file=path) from error
    except (pa.ArrowException, ValueError, OSError) as error:
        raise InputError(
            f"not a readable {table.name} table: {_first_line(error)}", remedy=REMEDY, file=path
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".")


def _read_seal(path: Path) -> dict[str, Any]:
    try:
        seal = jsontext.parse(path.read_text(encoding="utf-8"))
        return {"files": dict(seal["files"]), "summary": dict(seal["summary"])}
    except FileNotFoundError as error:
        raise InputError("rows have no seal", remedy=REMEDY, file=path) from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("not a seal", remedy=REMEDY, file=path) from error


def _checksums(folder: Path) -> dict[str, str]:
    return {table.file_name: sha256(folder / table.file_name) for table in TABLES}


def _summarise(tables: Mapping[str, pa.Table]) -> dict[str, Any]:
    return {
        "requests": _summarise_requests(tables["requests"]),
        "hooks": _sums(HOOKS, tables["hooks"]),
        "runs": _sums(RUNS, tables["runs"]),
    }


def _summarise_requests(requests: pa.Table) -> dict[str, Any]:
    served = requests.filter(pc.is_valid(requests["first_token_ns"]))
    ttft_ns = pc.subtract(served["first_token_ns"], served["arrival_ns"]).to_numpy()
    names, group_of = _groups(served)
    return {
        **_sums(REQUESTS, requests),
        "ttft": {name: _summarise_ttft(ttft_ns[group_of == group]) for group, name in enumerate(names)},
    }


def _groups(rows: pa.Table) -> tuple[list[str], npt.NDArray[np.intp]]:
    """Return the sorted names of what phases and kinds stand together, and the place in it of each row's."""
    phase, kind = (rows[name].combine_chunks() for name in ("phase", "kind"))
    pairs = [
        f"{one or 'any phase'}, {other or 'any kind'}"
        for one in phase.dictionary.to_pylist()
        for other in kind.dictionary.to_pylist()
    ]
    pair_of = phase.indices.to_numpy() * len(kind.dictionary) + kind.indices.to_numpy()
    present = sorted({pairs[pair] for pair in np.unique(pair_of).tolist()})
    places = np.array([present.index(name) if name in present else -1 for name in pairs], dtype=np.intp)
    return present, places[pair_of]


def _summarise_ttft(ttft_ns: npt.NDArray[np.int64]) -> dict[str, int]:
    return {
        "requests": len(ttft_ns),
        "p50_ns": order_statistic(ttft_ns, 50),
        "p99_ns": order_statistic(ttft_ns, 99),
        "worst_ns": int(ttft_ns.max()),
    }


def _sums(table: RowTable, rows: pa.Table) -> dict[str, int]:
    names = [field.name for field in table.schema if field.type == pa.int64() and field.name not in table.key]
    return {"rows": rows.num_rows, **{f"sum of {name}": pc.sum(rows[name]).as_py() or 0 for name in names}}


def _flatten(summary: Mapping[str, Any], prefix: str = "") -> dict[str, int]:
    flat: dict[str, int] = {}
    for name, value in summary.items():
        path = f"{prefix}{name}"
        flat |= _flatten(value, f"{path}: ") if isinstance(value, Mapping) else {path: int(value)}
    return flat


def _moves(old: Mapping[str, int], new: Mapping[str, int]) -> tuple[Move, ...]:
    names = [*old, *(name for name in new if name not in old)]
    return tuple(Move(name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name))

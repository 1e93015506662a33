"""The columns of a Parquet trace, decoded and held to the rules that a trace as JSON lines is held to."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fairway.errors import InputError
from fairway.traces.columns import Layout, disagreement, offsets, with_tails
from fairway.traces.row import LARGEST_ARRIVAL_NS, LARGEST_INT64
from fairway.traces.trace import BlockIds, Int64Array, Trace, in_narrowest_type

PART_REQUESTS = 1 << 16  # requests written or decoded at once: what is held beside the trace itself
INTEGERS = {  # columns, and the least and the largest value of each
    "arrival_ns": (0, LARGEST_ARRIVAL_NS),
    "input_length": (1, LARGEST_INT64),
    "output_length": (1, LARGEST_INT64),
}
IDS = "hash_ids"
LABELS = ("kind", "phase")
REMEDY = "build the trace again, or check that this is a trace as Parquet"


def read_columns(parquet: pq.ParquetFile, layout: Layout, path: Path) -> Trace:
    """Return a file's requests as a trace without a header, at the times that are written there.

    Raises:
        InputError: a column is missing or of another type, or a row is wrong (with its number).
        pyarrow.ArrowException, ValueError, OverflowError, MemoryError, OSError: the file is damaged.
    """
    _check_columns(parquet.schema_arrow, path)
    labels = [name for name in LABELS if name in parquet.schema_arrow.names]
    table = parquet.read([*INTEGERS, *labels], use_threads=False)
    table.validate(full=True)
    if table.num_rows == 0:
        raise InputError("the trace is empty", remedy="fetch or build it again", file=path)
    arrival_ns, prompt_tokens, output_tokens = (
        _integers(table[name], name, *bounds, path) for name, bounds in INTEGERS.items()
    )
    _refuse_first(np.diff(arrival_ns, prepend=0) < 0, "'arrival_ns' is earlier than in the row before", path)
    block_ids = _block_ids(parquet, prompt_tokens, layout, path)
    unlabelled = ("",) * len(table)
    trace = Trace(
        arrival_ns=arrival_ns,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        block_ids=in_narrowest_type(block_ids),
        block_offsets=offsets(layout.blocks(prompt_tokens)),
        block_tokens=layout.block_tokens,
        kind=_texts(table["kind"], "kind", path) if "kind" in labels else unlabelled,
        phase=_texts(table["phase"], "phase", path) if "phase" in labels else unlabelled,
    )
    return with_tails(trace) if layout.full_blocks_only else trace


def _check_columns(schema: pa.Schema, path: Path) -> None:
    wanted = {
        **{name: (pa.types.is_integer, "integers") for name in INTEGERS},
        IDS: (_is_of_integers, "lists of integers"),
        **{name: (_is_text, "text") for name in LABELS},
    }
    for name, (is_right, what) in wanted.items():
        found = schema.get_all_field_indices(name)
        if not found and name not in LABELS:
            raise InputError(f"column {name!r} is missing", remedy=REMEDY, file=path)
        if len(found) > 1:
            raise InputError(f"column {name!r} is there twice", remedy=REMEDY, file=path)
        if found and not is_right(schema.field(name).type):
            raise InputError(f"column {name!r} holds {schema.field(name).type}", remedy=f"give {what} there", file=path)


def _is_of_integers(kind: pa.DataType) -> bool:
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return bool(is_list and pa.types.is_integer(kind.value_type))


def _is_text(kind: pa.DataType) -> bool:
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(value) or pa.types.is_large_string(value))


def _integers(column: pa.ChunkedArray, name: str, least: int, largest: int, path: Path) -> Int64Array:
    _refuse_nulls(column, name, path)
    values = column.to_numpy()
    _refuse_first((values < least) | (values > largest), f"{name!r} is outside {least} .. {largest}", path)
    return np.asarray(values, dtype=np.int64)


def _texts(column: pa.ChunkedArray, name: str, path: Path) -> tuple[str, ...]:
    """Return a label of each row; equal ones are mostly one object, so a million take the space of their addresses."""
    _refuse_nulls(column, name, path)
    texts: list[str] = []
    for chunk in column.chunks:
        encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        names = np.array(encoded.dictionary.to_pylist(), dtype=np.object_)
        texts += names[encoded.indices.to_numpy()].tolist()
    return tuple(texts)


def _block_ids(parquet: pq.ParquetFile, prompt_tokens: Int64Array, layout: Layout, path: Path) -> BlockIds:
    """Return the ids of all rows end to end, in an array made once: a part is let go before the next is decoded."""
    id_type = parquet.schema_arrow.field(IDS).type.value_type
    stored = _stored_ids(parquet.metadata)
    block_ids: BlockIds = np.empty(stored, np.int32) if id_type == pa.int32() else np.empty(stored, np.int64)
    row = filled = 0
    for batch in parquet.iter_batches(PART_REQUESTS, columns=[IDS], use_threads=False):
        batch.validate(full=True)
        lists = batch.column(0)
        _refuse_nulls(lists, IDS, path, row)
        listed = np.asarray(lists.value_lengths(), dtype=np.int64)
        _refuse_disagreement(prompt_tokens[row : row + len(listed)], listed, layout, path, row)
        ids = lists.flatten()
        if ids.null_count or (len(ids) and not 0 <= pc.min(ids).as_py() <= pc.max(ids).as_py() <= LARGEST_INT64):
            _refuse_ids(lists, path, row)
        block_ids[filled : filled + len(ids)] = ids.to_numpy()
        row, filled = row + len(listed), filled + len(ids)
    return block_ids[:filled]


def _stored_ids(metadata: pq.FileMetaData) -> int:
    """Return how many ids a file says it has; an empty list counts as one."""
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    columns = [group.column(column) for group in groups for column in range(group.num_columns)]
    return sum(column.num_values for column in columns if column.path_in_schema.split(".")[0] == IDS)


def _refuse_disagreement(
    prompt_tokens: Int64Array, listed: Int64Array, layout: Layout, path: Path, first_row: int
) -> None:
    wrong = layout.blocks(prompt_tokens) != listed
    if wrong.any():
        place = int(np.argmax(wrong))
        _refuse(first_row + place, disagreement(int(prompt_tokens[place]), int(listed[place]), layout), path)


def _refuse_ids(lists: pa.ListArray, path: Path, first_row: int) -> NoReturn:
    def is_wrong(ids: list[int | None]) -> bool:
        return any(one is None or not 0 <= one <= LARGEST_INT64 for one in ids)

    place = next(place for place, ids in enumerate(lists.to_pylist()) if is_wrong(ids))
    _refuse(first_row + place, f"{IDS!r} holds a number outside 0 .. 2^63 - 1, or none", path)


def _refuse_nulls(column: pa.Array | pa.ChunkedArray, name: str, path: Path, first_row: int = 0) -> None:
    if column.null_count:
        _refuse_first(column.is_null().to_numpy(zero_copy_only=False), f"{name!r} is missing", path, first_row)


def _refuse_first(wrong: npt.NDArray[np.bool_], problem: str, path: Path, first_row: int = 0) -> None:
    """Refuse the first row that is wrong, if any is."""
    if wrong.any():
        _refuse(first_row + int(np.argmax(wrong)), problem, path)


def _refuse(row: int, problem: str, path: Path) -> NoReturn:
    raise InputError(f"row {row + 1}: {problem}", remedy=REMEDY, file=path)

"""Trace files in Parquet: the requests of Mooncake's JSON lines as columns, for traces of up to millions of requests.

Columns: integers ``arrival_ns`` (ns since the trace began), ``input_length`` and ``output_length`` (tokens), lists of
integers ``hash_ids``, and, if there are labels, texts ``kind`` and ``phase``; others are not looked at. Row ``n``,
counted from 1, is line ``n`` of the same trace as JSON lines, and the header file beside it says the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fairway.errors import InputError
from fairway.files import atomic_path, sha256
from fairway.traces.header import check_checksum, check_requests, layout_of, read_header, time_unit, write_header
from fairway.traces.numbered_lines import refuse_stand_ins
from fairway.traces.parquet_columns import IDS, INTEGERS, LABELS, PART_REQUESTS, REMEDY, read_columns
from fairway.traces.trace import Trace, in_narrowest_type

_FORMAT: dict[str, Any] = {
    "version": "2.6",
    "compression": "zstd",
    "use_dictionary": list(LABELS),
    # A prompt's ids mostly count upwards: as differences a trace of a million requests has 60 MB instead of 1.4 GB.
    "column_encoding": {f"{IDS}.list.element": "DELTA_BINARY_PACKED", "arrival_ns": "DELTA_BINARY_PACKED"},
    "write_page_checksum": True,
}


def read_trace(path: Path, *, block_tokens: int | None = None) -> Trace:
    """Read a trace; see `fairway.traces.read_trace`."""
    header = read_header(path)
    layout = layout_of(path, header, block_tokens)
    try:
        with path.open("rb") as file:
            refuse_stand_ins(file, path)
        if header is not None:  # before anything is decoded: what damaged bytes decode to says little
            check_checksum(path, header, sha256(path))
        with pq.ParquetFile(path, page_checksum_verification=True) as parquet:
            trace = read_columns(parquet, layout, path)
    except OSError as error:
        raise InputError(
            f"the trace cannot be read ({error.strerror or _first_line(error)})",
            remedy="check the path, or build the trace first",
            file=path,
        ) from error
    # Undecodable text is a ValueError; damaged counts ask for any amount of memory.
    except (pa.ArrowException, ValueError, OverflowError, MemoryError) as error:
        raise InputError(f"not a trace as Parquet: {_first_line(error)}", remedy=REMEDY, file=path) from error
    if header is None:
        header = {"time_unit": time_unit(path)}
        trace = dataclasses.replace(trace, arrival_ns=trace.arrival_ns - trace.arrival_ns[0])
    else:
        check_requests(path, header, len(trace))
    return dataclasses.replace(trace, header=header)


def write_trace(trace: Trace, path: Path) -> None:
    """Write a trace and its header; see `fairway.traces.write_trace`."""
    narrow = dataclasses.replace(trace, block_ids=in_narrowest_type(trace.block_ids))
    starts = range(0, max(1, len(trace)), PART_REQUESTS)
    write_parts((narrow.part(start, min(start + PART_REQUESTS, len(trace))) for start in starts), path, trace.header)


def write_parts(parts: Iterable[Trace], path: Path, header: Mapping[str, Any]) -> None:
    """Write a trace, given in parts one after the other, and its header; what is written is let go.

    ``header`` is what the header says besides the facts about the file; those of the parts are not looked at.

    Raises:
        ValueError: there is no part, or they differ in block size or in the type of their ids.
    """
    remaining = iter(parts)
    first = next(remaining, None)
    if first is None:
        raise ValueError("a trace without parts")
    schema = _schema(first.block_ids.dtype)
    requests = 0
    with atomic_path(path) as temporary:
        with pq.ParquetWriter(temporary, schema, **_FORMAT) as writer:
            for part in chain([first], remaining):
                if part.block_tokens != first.block_tokens or part.block_ids.dtype != first.block_ids.dtype:
                    raise ValueError("parts of one trace differ in block size or in the type of their ids")
                writer.write_table(_table(part, schema), row_group_size=PART_REQUESTS)
                requests += len(part)
        checksum = sha256(temporary)
    write_header(path, header, block_tokens=first.block_tokens, requests=requests, checksum=checksum)


def _schema(id_type: np.dtype[Any]) -> pa.Schema:
    integers = [pa.field(name, pa.int64(), nullable=False) for name in INTEGERS]
    element = pa.field("element", pa.from_numpy_dtype(id_type), nullable=False)
    labels = [pa.field(name, pa.dictionary(pa.int32(), pa.string()), nullable=False) for name in LABELS]
    return pa.schema([*integers, pa.field(IDS, pa.list_(element), nullable=False), *labels])


def _table(trace: Trace, schema: pa.Schema) -> pa.Table:
    offsets = pa.array(trace.block_offsets).cast(pa.int32())
    ids = pa.ListArray.from_arrays(offsets, pa.array(trace.block_ids), type=schema.field(IDS).type)
    labels = [pa.array(values, pa.string()).dictionary_encode() for values in (trace.kind, trace.phase)]
    integers = [pa.array(values) for values in (trace.arrival_ns, trace.prompt_tokens, trace.output_tokens)]
    return pa.Table.from_arrays([*integers, ids, *labels], schema=schema)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")

"""The second file of a trace: every prompt's token ids, for a real engine, as Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairway.errors import InputError
from fairway.files import atomic_path
from fairway.traces.corpus_text import TokenIds

COLUMN = "prompt_token_ids"
GROUP_PROMPTS = 64  # written together: neighbours share prefixes, which the compression finds


class TokenFile:
    """A sink that writes prompts in groups and so holds few of them; one row a request, in the trace's order."""

    def __init__(self, writer: Any, schema: Any) -> None:
        self._writer = writer
        self._schema = schema
        self._group: list[TokenIds] = []

    def add(self, tokens: TokenIds) -> None:
        """Take the next prompt."""
        self._group.append(tokens)
        if len(self._group) == GROUP_PROMPTS:
            self.flush()

    def flush(self) -> None:
        """Write the prompts that are held."""
        import pyarrow as pa

        if self._group:
            self._writer.write_table(pa.table({COLUMN: self._group}, schema=self._schema))
            self._group = []


@contextmanager
def token_file(path: Path) -> Iterator[TokenFile]:
    """Give a sink whose file appears whole, or not at all where the block fails."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([(COLUMN, pa.list_(pa.uint32()))])
    with (
        atomic_path(path) as part,
        parquet.ParquetWriter(part, schema, compression="zstd", use_dictionary=False) as writer,
    ):
        sink = TokenFile(writer, schema)
        yield sink
        sink.flush()


def read_tokens(path: Path) -> Iterator[list[int]]:
    """Yield every prompt's token ids, a group in memory at a time.

    Raises:
        InputError: the file cannot be read or is no token file.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                yield from file.read_row_group(group, columns=[COLUMN]).column(COLUMN).to_pylist()
    except (OSError, pa.ArrowException, KeyError) as error:
        raise InputError(
            f"the token ids cannot be read ({error})", remedy="build the trace again", file=path
        ) from error

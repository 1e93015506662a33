"""The trace type: requests as arrays, prompts as ids of blocks."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
BlockIds = npt.NDArray[np.int32] | npt.NDArray[np.int64]

LARGEST_INT32 = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Trace:
    """Requests in arrival order.

    A prompt is a run of ids, one per started block of ``block_tokens`` tokens (the last one may be partial). Equal ids
    behind equal predecessors mean equal content. ``block_ids`` holds the runs of all requests end to end: request ``i``
    owns ``block_ids[block_offsets[i]:block_offsets[i + 1]]``. Readers give ids as int32 where all fit, which halves
    the memory of a long trace, else as int64.
    """

    arrival_ns: Int64Array  # (n,), not decreasing, from 0 on
    prompt_tokens: Int64Array  # (n,), at least 1
    output_tokens: Int64Array  # (n,), at least 1
    block_ids: BlockIds
    block_offsets: Int64Array  # (n + 1,)
    block_tokens: int
    kind: tuple[str, ...]  # (n,) what a request is: "hit", "miss", "usual", ...; "" if unknown
    phase: tuple[str, ...]  # (n,) in which phase it arrived; "" if the trace has none
    header: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.arrival_ns)

    def first(self, count: int) -> Trace:
        """Return the trace of the first ``count`` requests."""
        return self.part(0, count)

    def part(self, start: int, stop: int) -> Trace:
        """Return the trace of the requests ``start`` to ``stop - 1``, at their times; the ids are not copied."""
        offsets = self.block_offsets[start : stop + 1]
        return dataclasses.replace(
            self,
            arrival_ns=self.arrival_ns[start:stop],
            prompt_tokens=self.prompt_tokens[start:stop],
            output_tokens=self.output_tokens[start:stop],
            block_ids=self.block_ids[offsets[0] : offsets[-1]],
            block_offsets=offsets - offsets[0],
            kind=self.kind[start:stop],
            phase=self.phase[start:stop],
        )


def in_narrowest_type(block_ids: BlockIds) -> BlockIds:
    """Return ids, none negative, as int32 if all fit, else as int64; no copy where they are so already."""
    fits = len(block_ids) == 0 or int(block_ids.max()) <= LARGEST_INT32
    return block_ids.astype(np.int32, copy=False) if fits else block_ids.astype(np.int64, copy=False)

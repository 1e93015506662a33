"""The trace type: requests as arrays, prompts as ids of blocks."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Trace:
    """Requests in arrival order.

    A prompt is a run of ids, one per started block of ``block_tokens`` tokens (the last one may be partial). Equal ids
    behind equal predecessors mean equal content. ``block_ids`` holds the runs of all requests end to end: request ``i``
    owns ``block_ids[block_offsets[i]:block_offsets[i + 1]]``.
    """

    arrival_ns: Int64Array  # (n,), not decreasing, from 0 on
    prompt_tokens: Int64Array  # (n,), at least 1
    output_tokens: Int64Array  # (n,), at least 1
    block_ids: Int64Array
    block_offsets: Int64Array  # (n + 1,)
    block_tokens: int
    kind: tuple[str, ...]  # (n,) what a request is: "hit", "miss", "usual", ...; "" if unknown
    phase: tuple[str, ...]  # (n,) in which phase it arrived; "" if the trace has none
    header: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.arrival_ns)

    def first(self, count: int) -> Trace:
        """Return the trace of the first ``count`` requests."""
        return dataclasses.replace(
            self,
            arrival_ns=self.arrival_ns[:count],
            prompt_tokens=self.prompt_tokens[:count],
            output_tokens=self.output_tokens[:count],
            block_ids=self.block_ids[: self.block_offsets[count]],
            block_offsets=self.block_offsets[: count + 1],
            kind=self.kind[:count],
            phase=self.phase[:count],
        )

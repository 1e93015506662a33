from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from fairway.traces import Trace


@pytest.fixture
def make_trace() -> Callable[..., Trace]:
    def make(prompts: Sequence[tuple[int, Sequence[int]]], block_tokens: int, **columns: Any) -> Trace:
        count = len(prompts)
        return Trace(
            arrival_ns=columns.get("arrival_ns", np.zeros(count, dtype=np.int64)),
            prompt_tokens=np.array([tokens for tokens, _ in prompts], dtype=np.int64),
            output_tokens=np.ones(count, dtype=np.int64),
            block_ids=np.array([block for _, ids in prompts for block in ids], dtype=np.int64),
            block_offsets=np.cumsum([0, *(len(ids) for _, ids in prompts)], dtype=np.int64),
            block_tokens=block_tokens,
            kind=columns.get("kind", ("",) * count),
            phase=columns.get("phase", ("",) * count),
        )

    return make

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.errors import InputError
from fairway.traces import Trace, chains, head_ids

MakeTrace = Callable[..., Trace]


def test_a_partial_last_block_shares_its_own_tokens_only(make_trace: MakeTrace) -> None:
    trace = make_trace([(546, [499, 500]), (546, [499, 500]), (1000, [499, 501]), (1024, [499, 500])], 512)
    first, second, third, whole = chains(trace, 16)
    assert first == second == list(range(34))  # 544 of 546 tokens are full blocks
    assert third == [*range(32), *range(34, 64)]
    assert len(whole) == 64
    assert not set(whole[32:]) & set(first)  # the id is the same, the number of tokens it stands for is not
    assert [len(chain) for chain in chains(trace, 512)] == [1, 1, 1, 2]


def test_an_engine_block_may_span_trace_blocks(make_trace: MakeTrace) -> None:
    trace = make_trace([(80, [0, 1, 2, 3, 4]), (64, [0, 1, 2, 9]), (31, [0, 1])], 16)
    first, second, third = chains(trace, 32)
    assert len(first) == 2
    assert len(second) == 2
    assert first[0] == second[0]
    assert first[1] != second[1]
    assert third == []


def test_equal_ids_behind_other_predecessors_are_other_content(make_trace: MakeTrace) -> None:
    first, second = chains(make_trace([(32, [0, 5]), (32, [1, 5])], 16), 16)
    assert not set(first) & set(second)


@pytest.mark.parametrize(("trace_tokens", "engine_tokens"), [(16, 24), (512, 48)])
def test_block_sizes_that_do_not_divide_are_refused(
    make_trace: MakeTrace, trace_tokens: int, engine_tokens: int
) -> None:
    with pytest.raises(InputError, match="do not divide"):
        chains(make_trace([(1, [0])], trace_tokens), engine_tokens)


prompts = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=1, max_size=8)


@given(ids=prompts, sizes=st.sampled_from([(64, 16), (64, 64), (16, 64), (16, 16)]), data=st.data())
def test_ids_are_equal_exactly_where_prefixes_are(ids: list[list[int]], sizes: tuple[int, int], data: Any) -> None:
    block_tokens, engine_tokens = sizes
    lengths = [data.draw(st.integers((len(run) - 1) * block_tokens + 1, len(run) * block_tokens)) for run in ids]
    prompts = list(zip(lengths, ids, strict=True))
    trace = make(prompts, block_tokens)
    written_out = [tokens_of(length, run, block_tokens) for length, run in prompts]
    found: dict[int, Any] = {}
    for content, chain in zip(written_out, chains(trace, engine_tokens), strict=True):
        assert len(chain) == len(content) // engine_tokens
        for place, block in enumerate(chain):
            prefix = content[: (place + 1) * engine_tokens]
            assert found.setdefault(block, prefix) == prefix
    assert len(set(found.values())) == len(found)
    heads = head_ids(trace).tolist()
    for content, head in zip(written_out, heads, strict=True):
        for other, other_head in zip(written_out, heads, strict=True):
            if content is not other:
                same = len(content) >= 32 and content[:32] == other[:32]
                assert (head == other_head) == same
        assert (head < 0) == (len(content) < 32)


def make(prompts: list[tuple[int, list[int]]], block_tokens: int) -> Trace:
    count = len(prompts)
    return Trace(
        arrival_ns=np.zeros(count, dtype=np.int64),
        prompt_tokens=np.array([length for length, _ in prompts]),
        output_tokens=np.ones(count, dtype=np.int64),
        block_ids=np.array([block for _, run in prompts for block in run]),
        block_offsets=np.cumsum([0, *(len(run) for _, run in prompts)]),
        block_tokens=block_tokens,
        kind=("",) * count,
        phase=("",) * count,
    )


def tokens_of(length: int, run: list[int], block_tokens: int) -> tuple[Any, ...]:
    """Write a prompt out token by token; a token is known by its block's id and length, and its place."""
    blocks = [min(block_tokens, length - place * block_tokens) for place in range(len(run))]
    return tuple((block, size, k) for block, size in zip(run, blocks, strict=True) for k in range(size))


def test_heads_need_block_sizes_that_show_32_tokens(make_trace: MakeTrace) -> None:
    with pytest.raises(InputError, match="first 32 tokens"):
        head_ids(make_trace([(40, [0, 1])], 24))
    assert head_ids(make_trace([(40, [0]), (48, [0]), (48, [0])], 48)).tolist() == [0, 1, 1]


def test_half_a_million_blocks_are_quick(make_trace: MakeTrace) -> None:
    trace = make_trace([(16 * 250, range(place * 100, place * 100 + 250)) for place in range(2000)], 16)
    start_s = time.process_time()
    chains(trace, 16)
    assert time.process_time() - start_s < 5  # about 0.3 s alone; other jobs may share the core

"""The trie says of every two prompts what their block chains say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.core.trie import build_trie
from fairway.errors import InputError
from fairway.traces import Trace, chains

PROMPTS = st.lists(
    st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=6), st.integers(0, 63)), min_size=1, max_size=25
)


def trace_of(prompts: list[tuple[list[int], int]], block_tokens: int, dtype: type = np.int64) -> Trace:
    """Each prompt: the ids of its blocks, and how many tokens are missing from the last one."""
    lengths = [len(ids) * block_tokens - missing % block_tokens for ids, missing in prompts]
    return Trace(
        arrival_ns=np.zeros(len(prompts), dtype=np.int64),
        prompt_tokens=np.array(lengths, dtype=np.int64),
        output_tokens=np.ones(len(prompts), dtype=np.int64),
        block_ids=np.array([one for ids, _ in prompts for one in ids], dtype=dtype),
        block_offsets=np.cumsum([0, *(len(ids) for ids, _ in prompts)]),
        block_tokens=block_tokens,
        kind=("",) * len(prompts),
        phase=("",) * len(prompts),
    )


@given(PROMPTS, st.sampled_from([(16, 16), (64, 16), (16, 64), (16, 32), (512, 16)]))
def test_segments_and_chains_name_the_same_blocks(prompts, sizes):
    trace, engine_block_tokens = trace_of(prompts, sizes[0]), sizes[1]
    trie = build_trie(trace, engine_block_tokens)
    block_of: dict[int, tuple[int, int]] = {}
    for request, chain in enumerate(chains(trace, engine_block_tokens)):
        begin = trie.path_start[request]
        way = trie.path[begin : begin + trie.path_segments[request]].tolist()
        assert trie.blocks[way].sum() == (trace.prompt_tokens[request] - 1) // engine_block_tokens
        if trie.last_segment[request] >= 0:
            way.append(int(trie.last_segment[request]))
            assert trie.blocks[way[-1]] == 1
        assert trie.level[way].tolist() == list(range(len(way)))
        assert trie.parent[way].tolist() == [0, *way][:-1][: len(way)]
        assert trie.start_block[way].tolist() == np.cumsum([0, *trie.blocks[way]])[: len(way)].tolist()
        places = [(segment, place) for segment in way for place in range(trie.blocks[segment])]
        assert len(places) == len(chain)
        for block, place in zip(chain, places, strict=True):
            assert block_of.setdefault(block, place) == place
    assert len(set(block_of.values())) == len(block_of), "different blocks, different places"
    assert trie.blocks.sum() == len(block_of), "no segment is longer than its prompts"


def test_a_long_run_that_all_prompts_share_is_one_segment():
    shared = list(range(100))
    trie = build_trie(trace_of([([*shared, 1000 + one], 1) for one in range(50)], 16), 16)
    assert trie.blocks.tolist() == [0, 100]


def test_narrow_ids_give_the_same_trie():
    prompts = [([0, 1, 2], 0), ([0, 1, 3], 5), ([0, 1], 0)]
    wide, narrow = (build_trie(trace_of(prompts, 16, dtype), 16) for dtype in (np.int64, np.int32))
    assert all(np.array_equal(getattr(wide, name), getattr(narrow, name)) for name in vars(wide))


def test_sizes_that_do_not_divide_are_refused():
    with pytest.raises(InputError, match="blocks of 16 tokens in the trace and 24 in the engine do not divide"):
        build_trie(trace_of([([1], 0)], 16), 24)


def test_no_request_gives_no_segment():
    assert build_trie(trace_of([([1], 0)], 16).first(0), 16).blocks.tolist() == [0]

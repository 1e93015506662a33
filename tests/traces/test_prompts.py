import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairway.traces.prompts import BlockNumbers, Request, Segment, number_and_assemble


def request(*segments: tuple[str, int]) -> Request:
    return Request("any", tuple(Segment((name,), tokens) for name, tokens in segments))


def test_block_numbers_by_hand() -> None:
    numbers = BlockNumbers()
    assert numbers.ids(request(("system", 32), ("a", 20), ("q1", 5))) == [
        0,
        1,
        2,
        3,
    ]  # 57 tokens: the fourth is partial
    assert numbers.ids(request(("system", 32), ("a", 20), ("q2", 12))) == [0, 1, 2, 4]  # 64 tokens
    assert numbers.ids(request(("system", 32), ("b", 16))) == [0, 1, 5]
    assert numbers.ids(request(("system", 32), ("a", 20))) == [0, 1, 2, 6]
    assert numbers.ids(request(("system", 32), ("a", 20))) == [0, 1, 2, 6]


segments = st.tuples(st.sampled_from("abc"), st.just(0)).map(
    lambda pair: (pair[0], {"a": 5, "b": 16, "c": 40}[pair[0]])
)


@given(prompts=st.lists(st.lists(segments, min_size=1, max_size=5), min_size=1, max_size=8))
def test_ids_are_equal_exactly_where_prefixes_are(prompts: list[list[tuple[str, int]]]) -> None:
    requests = [request(*prompt) for prompt in prompts]
    trace = number_and_assemble(requests, np.zeros(len(requests), dtype=np.int64), [""] * len(requests), 1)
    found: dict[int, object] = {}
    for place, prompt in enumerate(prompts):
        content = tuple((name, k) for name, tokens in prompt for k in range(tokens))
        ids = trace.block_ids[trace.block_offsets[place] : trace.block_offsets[place + 1]].tolist()
        assert len(content) == trace.prompt_tokens[place]
        assert len(ids) == -(-len(content) // 16)
        for block, block_id in enumerate(ids[: len(content) // 16]):
            prefix = content[: (block + 1) * 16]
            assert found.setdefault(block_id, prefix) == prefix
    assert len(set(found.values())) == len(found)


def test_ids_are_numbered_in_order_of_first_appearance() -> None:
    requests = [request(("a", 40), (f"q{place}", 30)) for place in range(5)]
    trace = number_and_assemble(requests, np.zeros(5, dtype=np.int64), [""] * 5, 1)
    first_seen = list(dict.fromkeys(trace.block_ids.tolist()))
    assert first_seen == list(range(len(first_seen)))

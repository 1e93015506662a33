"""Blocks numbered by tokens, and the file of token ids."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.errors import InputError
from fairway.traces.corpus import make_corpus, numbering
from fairway.traces.corpus_text import DRAWN_BOS, DRAWN_HIGHEST, DRAWN_LOWEST, TokenIds, drawn_tokens
from fairway.traces.prompts import BLOCK_TOKENS, BlockNumbers, Request, Segment
from fairway.traces.token_blocks import TokenBlocks
from fairway.traces.token_file import read_tokens, token_file

BOS = 128_000
LENGTHS = [0, 1, 5, 16, 17, 40]


class Kept:
    def __init__(self) -> None:
        self.prompts: list[list[int]] = []

    def add(self, tokens: TokenIds) -> None:
        self.prompts.append(tokens.tolist())


def few_words(segment: Segment) -> TokenIds:
    """Return ids of which there are few, so that segments often begin and end alike."""
    letter = sum(map(ord, str(segment.content[0])))
    return np.array([7 + (letter + place) % 2 for place in range(segment.tokens)], dtype=np.uint32)


segments = st.builds(Segment, st.tuples(st.sampled_from("abcd")), st.sampled_from(LENGTHS))
prompts = st.lists(segments, min_size=1, max_size=4).map(lambda parts: Request("", (*parts, Segment(("end",), 3))))


def full_prefixes(tokens: Sequence[int]) -> list[tuple[int, ...]]:
    return [tuple(tokens[: end + BLOCK_TOKENS]) for end in range(0, len(tokens) - BLOCK_TOKENS + 1, BLOCK_TOKENS)]


@given(st.lists(prompts, max_size=12))
def test_equal_ids_are_equal_tokens_and_the_other_way_round(requests: list[Request]) -> None:
    sink = Kept()
    numbers = TokenBlocks(few_words, BOS, sink)
    ids = [numbers.ids(request) for request in requests]
    prefix_of: dict[int, tuple[int, ...]] = {}
    for request, blocks, tokens in zip(requests, ids, sink.prompts, strict=True):
        assert len(tokens) == request.prompt_tokens
        assert len(blocks) == -(-len(tokens) // BLOCK_TOKENS)
        assert tokens[0] == BOS and BOS not in tokens[1:]
        started = full_prefixes(tokens) + ([tuple(tokens)] if len(tokens) % BLOCK_TOKENS else [])
        for block, prefix in zip(blocks, started, strict=True):
            assert prefix_of.setdefault(block, prefix) == prefix
    assert len(set(prefix_of.values())) == len(prefix_of)
    assert sorted(prefix_of) == list(range(len(prefix_of)))


@given(st.lists(prompts, max_size=12))
def test_segments_of_drawn_tokens_are_alike_as_wholes_or_not_at_all(requests: list[Request]) -> None:
    by_tokens, by_segments = TokenBlocks(lambda segment: drawn_tokens(segment, 1), BOS), BlockNumbers()
    no_empty = [Request("", tuple(part for part in request.segments if part.tokens)) for request in requests]
    # A lone token may be drawn twice, and all first ones are replaced; whole blocks never are alike.
    for request in no_empty:
        padded = Request("", (Segment(("system",), 16), *request.segments))
        assert len(by_tokens.ids(padded)) == len(by_segments.ids(padded))


def test_the_sink_changes_no_id() -> None:
    corpus = make_corpus(1)
    request = Request(
        "", (Segment(("system",), 128), Segment(("excerpt", 0, 1), 512), Segment(("question", "", 3), 77))
    )
    sink = Kept()
    assert numbering(corpus, 2, sink).ids(request) == numbering(corpus, 2).ids(request)
    (tokens,) = sink.prompts
    assert (len(tokens), tokens[0]) == (717, DRAWN_BOS)
    assert DRAWN_LOWEST <= min(tokens[1:]) <= max(tokens) <= DRAWN_HIGHEST


def test_token_ids_are_read_as_written_and_appear_whole(tmp_path: Path) -> None:
    path = tmp_path / "1.tokens.parquet"
    rows = [np.arange(length, dtype=np.uint32) for length in range(1, 200)]
    with token_file(path) as sink:
        for row in rows:
            sink.add(row)
        assert not path.exists()
    assert list(read_tokens(path)) == [row.tolist() for row in rows]
    written = path.read_bytes()
    with pytest.raises(RuntimeError, match="killed"), token_file(path) as sink:
        sink.add(rows[0])
        raise RuntimeError("killed")
    assert path.read_bytes() == written
    path.write_bytes(written[: len(written) // 2])
    with pytest.raises(InputError, match=r"1\.tokens\.parquet"):
        list(read_tokens(path))

import dataclasses
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.traces.corpus import make_corpus
from fairway.traces.draws import Draws, zipf_ranks
from fairway.traces.excerpts import excerpt_lists
from fairway.traces.prompts import Request
from fairway.traces.ranges import Range
from fairway.traces.sec import SecContent, ShallowUnits
from fairway.traces.streams import stream

CORPUS = make_corpus(1)
CONTENT = SecContent(
    kind="sec",
    units=300,
    popularity_exponent=1.2,
    system_tokens=128,
    question_tokens=Range(50, 150),
    usual_excerpts=Range(2, 12),
    usual_share=0.7,
    fewer_share=0.15,
    own_excerpts=Range(1, 3),
)


def sec_requests(content: SecContent, seed: int, count: int) -> list[Request]:
    return content.requests(CORPUS, Draws(seed), count)


def excerpts_of(request: object) -> list[tuple[object, ...]]:
    return [segment.content for segment in request.segments if segment.content[0] == "excerpt"]  # type: ignore[attr-defined]


def own_of(request: object) -> list[tuple[object, ...]]:
    return [segment.content for segment in request.segments if segment.content[0] == "own"]  # type: ignore[attr-defined]


def test_a_request_is_system_prompt_leading_excerpts_own_excerpts_question() -> None:
    unit_of_first = {excerpts[0]: excerpts for excerpts in excerpt_lists(CORPUS, 300)}
    for place, request in enumerate(sec_requests(CONTENT, 3, 400)):
        system, *middle, question = request.segments
        assert (system.content, system.tokens) == (("system",), 128)
        assert question.content == ("question", "", place)
        assert 50 <= question.tokens <= 150
        assert all(segment.tokens == 512 for segment in middle)
        excerpts = [content[1:] for content in excerpts_of(request)]
        assert excerpts == list(unit_of_first[excerpts[0]][: len(excerpts)])  # type: ignore[index]
        assert len(own_of(request)) == (0 if request.kind != "deeper" else len(middle) - len(excerpts))


def test_depths_are_usual_fewer_and_deeper_in_the_shares_asked_for() -> None:
    requests = sec_requests(CONTENT, 3, 20_000)
    shares = {kind: count / 20_000 for kind, count in Counter(request.kind for request in requests).items()}
    assert shares == pytest.approx({"usual": 0.7, "fewer": 0.15, "deeper": 0.15}, abs=0.01)
    usual = {}
    for request in requests:
        if request.kind == "usual":
            assert usual.setdefault(excerpts_of(request)[0], len(excerpts_of(request))) == len(excerpts_of(request))
    assert set(usual.values()) == set(range(2, 13))
    own_counts: Counter[int] = Counter()
    fewer = defaultdict(set)
    for request in requests:
        first, depth = excerpts_of(request)[0], len(excerpts_of(request))
        if request.kind == "fewer":
            fewer[first].add(depth)
        if request.kind == "deeper":
            assert depth == usual.get(first, depth)  # a unit never asked as usual tells nothing
            own_counts[len(own_of(request))] += 1
    assert all(depths <= set(range(1, usual[first])) for first, depths in fewer.items() if first in usual)
    most_asked = Counter(excerpts_of(request)[0] for request in requests).most_common(5)
    assert all(fewer[first] == set(range(1, usual[first])) for first, _ in most_asked)
    assert set(own_counts) == {1, 2, 3}
    assert max(own_counts.values()) / min(own_counts.values()) < 1.2


def test_own_excerpts_and_questions_are_nobody_else_s() -> None:
    requests = sec_requests(CONTENT, 3, 2_000)
    own = [content for request in requests for content in own_of(request)]
    questions = [request.segments[-1].content for request in requests]
    assert len(set(own)) == len(own)
    assert len(set(questions)) == len(questions)


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_no_prompt_exceeds_31_excerpts_and_a_unit_of_one_has_no_fewer(seed: int) -> None:
    for usual, longest in ((Range(30, 31), 31), (Range(1, 1), 4)):
        content = dataclasses.replace(CONTENT, usual_excerpts=usual)
        for request in sec_requests(content, seed, 200):
            excerpts, own = len(excerpts_of(request)), len(own_of(request))
            assert 1 <= excerpts <= excerpts + own <= longest
            assert request.prompt_tokens <= 16_384
            if usual.highest == 1 and request.kind == "fewer":
                assert (excerpts, own) == (1, 0)


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), count=st.integers(0, 100))
def test_a_longer_sequence_begins_with_the_shorter_one(seed: int, count: int) -> None:
    assert sec_requests(CONTENT, seed, 150)[:count] == sec_requests(CONTENT, seed, count)


def test_popularity_is_zipf() -> None:
    ranks = zipf_ranks(1.2, 300, stream(5, "popularity"), 20_000)
    weights = np.arange(1, 301) ** -1.2
    expected = np.cumsum(weights) / weights.sum()
    drawn = np.cumsum(np.bincount(ranks, minlength=300)) / 20_000
    assert np.abs(drawn - expected).max() < 0.015


def test_seeds_differ_in_popular_units_and_usual_excerpts() -> None:
    first, second = (sec_requests(CONTENT, seed, 2_000) for seed in (1, 2))
    favourites = [Counter(excerpts_of(request)[0] for request in run).most_common(1)[0][0] for run in (first, second)]
    assert favourites[0] != favourites[1]


def test_a_tenth_of_the_units_is_shallow() -> None:
    shallow = ShallowUnits(0.1, Range(1, 3))
    content = dataclasses.replace(
        CONTENT,
        usual_excerpts=Range(12, 26),
        shallow_units=shallow,
        popularity_exponent=0.0,
        usual_share=1.0,
        fewer_share=0.0,
    )
    depth_of = {excerpts_of(request)[0]: len(excerpts_of(request)) for request in sec_requests(content, 3, 20_000)}
    assert len(depth_of) == 300
    assert sum(depth <= 3 for depth in depth_of.values()) == 30
    assert {depth for depth in depth_of.values() if depth <= 3} == {1, 2, 3}
    assert min(depth for depth in depth_of.values() if depth > 3) == 12


def test_the_second_sequence_asks_the_same_units_more_narrowly() -> None:
    first = CONTENT.requests(CORPUS, Draws(3), 5_000)
    second = CONTENT.requests(CORPUS, Draws(3, added_exponent=0.4), 5_000)
    counts = [Counter(excerpts_of(request)[0] for request in run) for run in (first, second)]
    weights = {exponent: np.arange(1, 301) ** -exponent for exponent in (1.2, 1.6)}
    assert counts[0].most_common(1)[0][0] == counts[1].most_common(1)[0][0]
    for count, exponent in zip(counts, weights, strict=True):
        share = count.most_common(1)[0][1] / 5_000
        assert share == pytest.approx(weights[exponent][0] / weights[exponent].sum(), abs=0.02)
    usual = [
        {excerpts_of(request)[0]: len(excerpts_of(request)) for request in run if request.kind == "usual"}
        for run in (first, second)
    ]
    assert all(usual[0][unit] == depth for unit, depth in usual[1].items() if unit in usual[0])
    texts = [{content for request in run for content in own_of(request)} for run in (first, second)]
    questions = [{request.segments[-1].content for request in run} for run in (first, second)]
    assert questions[0] & questions[1] == set()
    for of in (lambda request: request.kind, lambda request: request.segments[-1].tokens):
        equal = sum(of(one) == of(other) for one, other in zip(first, second, strict=True))
        assert equal < 0.6 * len(first)  # drawn apart: kinds agree by chance for 0.54 of them
    assert texts[0] & texts[1] == set()


def test_without_a_system_prompt_prompts_begin_with_their_excerpts() -> None:
    with_system, without = (
        CONTENT.requests(CORPUS, Draws(3), 50),
        dataclasses.replace(CONTENT, system_tokens=0).requests(CORPUS, Draws(3), 50),
    )
    assert [request.prompt_tokens - 128 for request in with_system] == [request.prompt_tokens for request in without]

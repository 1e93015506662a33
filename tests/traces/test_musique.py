from collections import Counter
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.errors import InputError
from fairway.traces.corpus import make_corpus
from fairway.traces.draws import Draws
from fairway.traces.facts import read_facts
from fairway.traces.musique import MusiqueContent, once_each
from fairway.traces.questions import QuestionFacts, Questions, make_questions, shared_first
from fairway.traces.statistics import hit_shares

CONTENT = MusiqueContent("musique", popularity_exponent=0.4, system_tokens=0, paragraph_order="shared-first")
RESHUFFLED = MusiqueContent("musique", popularity_exponent=0.4, system_tokens=0, paragraph_order="reshuffled")
QUESTIONS = make_questions(1)


def paragraphs_of(request: object) -> list[int]:
    return [segment.content[1] for segment in request.segments if segment.content[0] == "paragraph"]


@given(seed=st.integers(0, 2**32))
def test_the_set_follows_its_facts_for_any_seed(seed: int) -> None:
    facts = read_facts("musique", QuestionFacts)
    questions = make_questions(seed)
    assert len(questions.question_paragraphs) == facts.questions
    assert {len(paragraphs) for paragraphs in questions.question_paragraphs} == {facts.paragraphs}
    seen: set[tuple[int, ...]] = set()
    depths = []
    for paragraphs in questions.question_paragraphs:
        beginnings = [paragraphs[: depth + 1] for depth in range(len(paragraphs))]
        depths.append(sum(beginning in seen for beginning in beginnings))
        seen.update(beginnings)
    assert np.bincount(depths).tolist() == list(facts.matched_questions)
    assert sorted(set(chain.from_iterable(questions.question_paragraphs))) == list(
        range(len(questions.paragraph_tokens))
    )


def test_prompts_have_the_lengths_of_real_ones() -> None:
    trace = once_each(QUESTIONS)
    assert 1_300 <= trace.prompt_tokens.min() < trace.prompt_tokens.max() <= 4_300


@given(st.lists(st.lists(st.integers(0, 9), max_size=6, unique=True), max_size=8))
def test_shared_paragraphs_come_first_in_one_order(named: list[list[int]]) -> None:
    ordered = shared_first(named)
    uses = Counter(chain.from_iterable(named))
    rank: dict[tuple[int, int], bool] = {}
    for before, after in zip(named, ordered, strict=True):
        assert sorted(before) == sorted(after)
        counts = [uses[paragraph] for paragraph in after]
        assert counts == sorted(counts, reverse=True)
        for place, first in enumerate(after):
            for second in after[place + 1 :]:
                assert rank.setdefault((first, second), True)
                assert (second, first) not in rank


def test_a_question_asked_again_is_the_same_prompt() -> None:
    requests = CONTENT.requests(QUESTIONS, Draws(5), 3_000)
    by_question: dict[object, object] = {}
    for request in requests:
        assert by_question.setdefault(request.segments[-1], request) == request
        assert tuple(paragraphs_of(request)) in QUESTIONS.question_paragraphs
    assert len(by_question) == 200


def test_reshuffled_paragraphs_are_the_same_ones_in_another_order_each_time() -> None:
    plain, shuffled = (content.requests(QUESTIONS, Draws(5), 1_000) for content in (CONTENT, RESHUFFLED))
    assert [sorted(paragraphs_of(request)) for request in plain] == [sorted(paragraphs_of(r)) for r in shuffled]
    orders = {(request.segments[-1], tuple(paragraphs_of(request))) for request in shuffled}
    assert len(orders) == 1_000
    assert shuffled[:100] == RESHUFFLED.requests(QUESTIONS, Draws(5), 100)


def test_popularity_is_zipf() -> None:
    counts = Counter(request.segments[-1] for request in CONTENT.requests(QUESTIONS, Draws(5), 10_000))
    weights = np.arange(1, 201) ** -0.4
    drawn = np.cumsum(sorted(counts.values(), reverse=True)) / 10_000
    assert np.abs(drawn - np.cumsum(weights) / weights.sum()).max() < 0.04


def test_without_a_bound_a_second_round_hits_nearly_all() -> None:
    first = once_each(QUESTIONS)
    assert 0.05 < hit_shares(first).mean() < 0.2
    twice = once_each(
        Questions(
            "musique",
            "embedded",
            1,
            "none",
            QUESTIONS.paragraph_tokens,
            QUESTIONS.question_tokens * 2,
            QUESTIONS.question_paragraphs * 2,
        )
    )
    assert hit_shares(twice)[200:].mean() > 0.95


def test_a_corpus_of_another_kind_is_refused() -> None:
    with pytest.raises(InputError, match="'sec' is not the one"):
        CONTENT.requests(make_corpus(1), Draws(5), 1)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"question_paragraphs": ((0, 2),)}, "a paragraph that there is not"),
        ({"question_paragraphs": ((-1, 0),)}, "a paragraph that there is not"),
        ({"question_tokens": ()}, "no question"),
        ({"question_tokens": (5, 5)}, "not of as many questions"),
        ({"paragraph_tokens": (5, 0)}, "no tokens"),
    ],
)
def test_questions_that_do_not_go_together_are_refused(changed: dict[str, object], problem: str) -> None:
    good = {"paragraph_tokens": (5, 6), "question_tokens": (5,), "question_paragraphs": ((0, 1),)}
    with pytest.raises(ValueError, match=problem):
        Questions("musique", "embedded", 1, "none", **(good | changed))

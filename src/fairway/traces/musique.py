"""Multi-hop questions with all their paragraphs, asked again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fairway.traces.corpus import Corpus, as_kind
from fairway.traces.draws import Draws, zipf_ranks
from fairway.traces.prompts import Request, Segment, number_and_assemble, system_prompt
from fairway.traces.questions import Questions
from fairway.traces.source import RequestSource
from fairway.traces.trace import Trace

ASKED = "question"
RESHUFFLED = "reshuffled"


@dataclass(frozen=True)
class MusiqueContent(RequestSource):
    """A question's paragraphs, then its text: all of it recurs when the question does."""

    corpus: ClassVar[str] = "musique"

    kind: Literal["musique"]
    popularity_exponent: float  # Zipf over questions
    system_tokens: int  # 0 for none
    paragraph_order: Literal["shared-first", "reshuffled"]  # reshuffled: anew for each request

    def __post_init__(self) -> None:
        if self.system_tokens < 0:
            raise ValueError(f"system_tokens is {self.system_tokens}")
        if not 0.0 <= self.popularity_exponent <= 10.0:
            raise ValueError(f"popularity_exponent is {self.popularity_exponent}")

    def requests(self, corpus: Corpus, draws: Draws, count: int) -> list[Request]:
        """Return the first ``count`` requests of a sequence; which questions are popular is drawn for each seed."""
        questions = as_kind(Questions, corpus)
        known = len(questions.question_tokens)
        exponent = self.popularity_exponent + draws.added_exponent
        ranks = zipf_ranks(exponent, known, draws.of_requests("popularity"), count)
        asked = draws.of_units("popular questions").permutation(known)[ranks]
        shuffles = draws.of_requests("paragraph order")
        return [self._request(questions, question, shuffles) for question in asked.tolist()]

    def _request(self, questions: Questions, question: int, shuffles: np.random.Generator) -> Request:
        paragraphs = questions.question_paragraphs[question]
        if self.paragraph_order == RESHUFFLED:
            paragraphs = tuple(shuffles.permutation(paragraphs).tolist())
        return _ask(questions, question, paragraphs, self.system_tokens)


def once_each(questions: Questions) -> Trace:
    """Return a trace that asks each question once, in the set's order, without a system prompt."""
    requests = [_ask(questions, place, paragraphs, 0) for place, paragraphs in enumerate(questions.question_paragraphs)]
    return number_and_assemble(requests, np.zeros(len(requests), dtype=np.int64), [""] * len(requests), output_tokens=1)


def _ask(questions: Questions, question: int, paragraphs: Sequence[int], system_tokens: int) -> Request:
    return Request(
        ASKED,
        (
            system_prompt(system_tokens),
            *(Segment(("paragraph", number), questions.paragraph_tokens[number]) for number in paragraphs),
            Segment(("question", question), questions.question_tokens[question]),
        ),
    )

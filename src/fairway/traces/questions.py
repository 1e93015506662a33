"""Multi-hop questions with their paragraphs, and the embedded MuSiQue-like set of them.

Source of the statistics: 200 questions of MuSiQue (Trivedi et al., TACL 2022), see facts/musique.json.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain
from typing import Literal

from fairway.traces.checksum import content_sha256
from fairway.traces.corpus_text import CorpusText, TokenIds, drawn_tokens
from fairway.traces.facts import draw_from, read_facts, strata
from fairway.traces.filings import EMBEDDED
from fairway.traces.prompts import Segment
from fairway.traces.streams import stream

TOKENIZER = "none: lengths follow Llama-3 token counts of real paragraphs"
FEWEST_TOKENS = 16  # of a paragraph


@dataclass(frozen=True)
class QuestionFacts:
    """What real questions are like; lengths as evenly spaced quantiles."""

    source: str
    tokenizer: str
    questions: int
    paragraphs: int  # of each question
    question_tokens: tuple[int, ...]
    paragraph_tokens: tuple[int, ...]  # over different paragraphs
    context_tokens: tuple[int, ...]  # a question's paragraphs together
    matched_questions: tuple[int, ...]  # how many begin like an earlier one for 0, 1, 2, ... paragraphs


@dataclass(frozen=True)
class Questions:
    """Questions by their lengths; paragraphs are numbers, the same number meaning the same text.

    A question lists its paragraphs in the order in which a prompt has them: those shared between questions first.
    """

    name: Literal["musique"]
    kind: str
    seed: int
    tokenizer: str
    paragraph_tokens: tuple[int, ...]
    question_tokens: tuple[int, ...]
    question_paragraphs: tuple[tuple[int, ...], ...]
    text: CorpusText | None = field(default=None, compare=False)  # paragraphs, then questions; None: lengths alone

    def __post_init__(self) -> None:
        if not self.question_tokens or len(self.question_tokens) != len(self.question_paragraphs):
            raise ValueError("there is no question, or lengths and paragraphs are not of as many questions")
        if min(chain(self.paragraph_tokens, self.question_tokens)) < 1:
            raise ValueError("something has no tokens")
        named = list(chain.from_iterable(self.question_paragraphs))
        if not all(0 <= paragraph < len(self.paragraph_tokens) for paragraph in named):
            raise ValueError("a question names a paragraph that there is not")

    def context_tokens(self, question: int) -> int:
        """Return the tokens of a question's paragraphs together."""
        return sum(self.paragraph_tokens[paragraph] for paragraph in self.question_paragraphs[question])

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate(chain(self.paragraph_tokens, self.question_tokens), initial=0))

    def tokens(self, segment: Segment, seed: int) -> TokenIds:
        """Return the ids of a prompt's segment."""
        if self.text is None:
            return drawn_tokens(segment, seed)
        match segment.content:
            case ("paragraph", int(paragraph)):
                return self.text.piece(self._starts[paragraph], segment.tokens)
            case ("question", int(question)):
                return self.text.piece(self._starts[len(self.paragraph_tokens) + question], segment.tokens)
        return self.text.system(segment.tokens)

    def sha256(self) -> str:
        """Return the checksum of the content."""
        return content_sha256(self)

    def __str__(self) -> str:
        return f"{len(self.question_tokens)} questions, {len(self.paragraph_tokens)} paragraphs ({self.kind})"


def shared_first(question_paragraphs: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Order each question's paragraphs: those of more questions first, then those that appeared earlier.

    One order for all questions, so that questions with the same shared paragraphs begin alike.
    """
    uses = Counter(chain.from_iterable(question_paragraphs))
    appeared = {paragraph: place for place, paragraph in enumerate(dict.fromkeys(chain(*question_paragraphs)))}
    return [
        tuple(sorted(paragraphs, key=lambda paragraph: (-uses[paragraph], appeared[paragraph])))
        for paragraphs in question_paragraphs
    ]


def make_questions(seed: int) -> Questions:
    """Grow a tree of questions: each begins like an earlier one for as many paragraphs as real questions do.

    Lengths and depths are drawn by strata, so that so small a set follows its facts for any seed.
    """
    facts = read_facts("musique", QuestionFacts)
    rng = stream(seed, "question tree")
    context_tokens = draw_from(facts.context_tokens, strata(stream(seed, "context lengths"), facts.questions)).tolist()
    paragraph_tokens: list[int] = []
    question_paragraphs: list[tuple[int, ...]] = []
    unfollowed: list[int] = []  # questions that no other one begins like
    for question, depth in enumerate(_depths(facts, seed)):
        shared = question_paragraphs[unfollowed.pop(int(rng.integers(len(unfollowed))))][:depth] if depth else ()
        unfollowed.append(question)
        fresh_tokens = context_tokens[question] - sum(paragraph_tokens[paragraph] for paragraph in shared)
        uniforms = rng.random(facts.paragraphs - depth)
        fresh = _scaled(draw_from(facts.paragraph_tokens, uniforms).tolist(), fresh_tokens)
        first = len(paragraph_tokens)
        question_paragraphs.append((*shared, *range(first, first + len(fresh))))
        paragraph_tokens.extend(fresh)
    lengths = draw_from(facts.question_tokens, strata(stream(seed, "question texts"), facts.questions))
    return Questions(
        "musique",
        EMBEDDED,
        seed,
        TOKENIZER,
        tuple(paragraph_tokens),
        tuple(lengths.tolist()),
        tuple(question_paragraphs),
    )


def _depths(facts: QuestionFacts, seed: int) -> list[int]:
    """Return how many paragraphs each question shares with the beginning of an earlier one, the first none."""
    depths = list(chain.from_iterable([depth] * count for depth, count in enumerate(facts.matched_questions)))
    shuffled: list[int] = stream(seed, "shared paragraphs").permutation(depths).tolist()
    shuffled.remove(0)
    return [0, *shuffled]


def _scaled(tokens: Sequence[int], total: int) -> list[int]:
    """Scale lengths so that they sum up to about ``total``."""
    whole = sum(tokens)
    return [max(FEWEST_TOKENS, length * total // whole) for length in tokens]

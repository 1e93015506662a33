"""Real questions: JSON lines in MuSiQue's own schema, with paragraphs counted in tokens.

Source of the schema: Trivedi et al., TACL 2022. A line has ``question`` and ``paragraphs``, each of these with
``title`` and ``paragraph_text``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fairway import jsontext
from fairway.errors import InputError
from fairway.traces.numbered_lines import numbered_lines
from fairway.traces.questions import Questions, shared_first
from fairway.traces.row import Place, decoded

CountTokens = Callable[[str], int]


class QuestionRow(NamedTuple):
    """A question and its paragraphs' texts."""

    question: str
    paragraphs: list[str]


@dataclass(frozen=True)
class QuestionTexts:
    """Questions and the different paragraphs that they name by number, those shared between questions first."""

    questions: tuple[str, ...]
    paragraphs: tuple[str, ...]
    question_paragraphs: tuple[tuple[int, ...], ...]

    def counted(self, count_tokens: CountTokens, tokenizer: str) -> Questions:
        """Return the questions by their lengths; ``tokenizer`` names what ``count_tokens`` uses."""
        return Questions(
            name="musique",
            kind="real",
            seed=0,
            tokenizer=tokenizer,
            paragraph_tokens=tuple(max(1, count_tokens(text)) for text in self.paragraphs),
            question_tokens=tuple(max(1, count_tokens(text)) for text in self.questions),
            question_paragraphs=self.question_paragraphs,
        )


def read_questions(path: Path, count_tokens: CountTokens, tokenizer: str) -> Questions:
    """Read questions from JSON lines, counted; raises as `question_rows` does."""
    return question_texts(question_rows(path)).counted(count_tokens, tokenizer)


def question_texts(rows: Iterable[QuestionRow]) -> QuestionTexts:
    """Number the paragraphs of questions; equal title and text make paragraphs the same one.

    A paragraph is its title, a line end, its text and a blank line.
    """
    texts: dict[str, int] = {}
    questions: list[str] = []
    named: list[list[int]] = []
    for question, paragraphs in rows:
        questions.append(question)
        # A question that lists a paragraph twice has it once.
        named.append(list(dict.fromkeys(texts.setdefault(text, len(texts)) for text in paragraphs)))
    return QuestionTexts(tuple(questions), tuple(texts), tuple(shared_first(named)))


def question_rows(path: Path) -> Iterator[QuestionRow]:
    """Yield the questions of a file in MuSiQue's schema.

    Raises:
        InputError: the file cannot be read or is empty, or a line has no question or no paragraphs (with its line).
    """
    empty = True
    for row in _lines(path):
        empty = False
        yield row
    if empty:
        raise InputError("there is no question in the file", remedy="fetch it again", file=path)


def question_row(value: Any, place: Place) -> QuestionRow:
    """Return one row's question and paragraphs; raises InputError where it is not in MuSiQue's schema."""
    question = value.get("question") if isinstance(value, dict) else None
    paragraphs = value.get("paragraphs") if isinstance(value, dict) else None
    if not isinstance(question, str) or not question or not isinstance(paragraphs, list) or not paragraphs:
        place.refuse("the line has no question with paragraphs", "check that this is a file in MuSiQue's schema")
    return QuestionRow(question, [_text(paragraph, place) for paragraph in paragraphs])


def _lines(path: Path) -> Iterator[QuestionRow]:
    for place, line in numbered_lines(path):
        yield _parsed(line, place)


def _parsed(line: bytes, place: Place) -> QuestionRow:
    try:
        value = jsontext.parse(decoded(line, place))
    except ValueError as error:
        place.refuse(f"the line is not JSON ({error})", "fetch the file again")
    return question_row(value, place)


def _text(paragraph: Any, place: Place) -> str:
    parts = [paragraph.get(name) if isinstance(paragraph, dict) else None for name in ("title", "paragraph_text")]
    if not all(isinstance(part, str) for part in parts):
        place.refuse("a paragraph has no title or no text", "check that this is a file in MuSiQue's schema")
    return "{}\n{}\n\n".format(*parts)

"""Real questions: JSON lines in MuSiQue's own schema, with paragraphs counted in tokens.

Source of the schema: Trivedi et al., TACL 2022. A line has ``question`` and ``paragraphs``, each of these with
``title`` and ``paragraph_text``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fairway import jsontext
from fairway.errors import InputError
from fairway.traces.numbered_lines import numbered_lines
from fairway.traces.questions import Questions, shared_first
from fairway.traces.row import Place, decoded

CountTokens = Callable[[str], int]


def read_questions(path: Path, count_tokens: CountTokens, tokenizer: str) -> Questions:
    """Read questions; equal title and text make paragraphs the same one.

    A paragraph is its title, a line end, its text and a blank line. ``tokenizer`` names what ``count_tokens`` uses.

    Raises:
        InputError: the file cannot be read or is empty, or a line has no question or no paragraphs (with its line).
    """
    texts: dict[str, int] = {}
    questions: list[str] = []
    named: list[list[int]] = []
    for question, paragraphs in _lines(path):
        questions.append(question)
        # A question that lists a paragraph twice has it once.
        named.append(list(dict.fromkeys(texts.setdefault(text, len(texts)) for text in paragraphs)))
    if not questions:
        raise InputError("there is no question in the file", remedy="fetch it again", file=path)
    return Questions(
        name="musique",
        kind="real",
        seed=0,
        tokenizer=tokenizer,
        paragraph_tokens=tuple(max(1, count_tokens(text)) for text in texts),
        question_tokens=tuple(max(1, count_tokens(text)) for text in questions),
        question_paragraphs=tuple(shared_first(named)),
    )


def _lines(path: Path) -> Iterator[tuple[str, list[str]]]:
    for place, line in numbered_lines(path):
        yield _parsed(line, place)


def _parsed(line: bytes, place: Place) -> tuple[str, list[str]]:
    try:
        value = jsontext.parse(decoded(line, place))
    except ValueError as error:
        place.refuse(f"the line is not JSON ({error})", "fetch the file again")
    question = value.get("question") if isinstance(value, dict) else None
    paragraphs = value.get("paragraphs") if isinstance(value, dict) else None
    if not isinstance(question, str) or not question or not isinstance(paragraphs, list) or not paragraphs:
        place.refuse("the line has no question with paragraphs", "check that this is a file in MuSiQue's schema")
    return question, [_text(paragraph, place) for paragraph in paragraphs]


def _text(paragraph: Any, place: Place) -> str:
    parts = [paragraph.get(name) if isinstance(paragraph, dict) else None for name in ("title", "paragraph_text")]
    if not all(isinstance(part, str) for part in parts):
        place.refuse("a paragraph has no title or no text", "check that this is a file in MuSiQue's schema")
    return "{}\n{}\n\n".format(*parts)

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.errors import InputError
from fairway.traces.musique_file import read_questions
from fairway.traces.questions import Questions


def paragraph(title: str, text: str = "text") -> dict[str, Any]:
    return {"title": title, "paragraph_text": text, "is_supporting": False}


def read(path: Path, *lines: object) -> Questions:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines), "utf-8")
    return read_questions(path, lambda text: len(text.split()), "words")


def test_shared_paragraphs_are_one_and_come_first(tmp_path: Path) -> None:
    questions = read(
        tmp_path / "q.jsonl",
        {"question": "who", "paragraphs": [paragraph("a"), paragraph("b", "two words")]},
        {"question": "where is it", "paragraphs": [paragraph("c"), paragraph("b", "two words"), paragraph("c")]},
    )
    assert questions.question_paragraphs == ((1, 0), (1, 2))
    assert questions.paragraph_tokens == (2, 3, 2)
    assert questions.question_tokens == (1, 3)
    assert (questions.kind, questions.tokenizer) == ("real", "words")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not JSON"),
        ("[1]", "no question with paragraphs"),
        ({"paragraphs": [paragraph("a")]}, "no question with paragraphs"),
        ({"question": "", "paragraphs": [paragraph("a")]}, "no question with paragraphs"),
        ({"question": "who", "paragraphs": []}, "no question with paragraphs"),
        ({"question": "who", "paragraphs": ["a"]}, "no title or no text"),
        ({"question": "who", "paragraphs": [{"title": "a"}]}, "no title or no text"),
    ],
)
def test_a_wrong_line_is_refused(tmp_path: Path, line: object, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        read(tmp_path / "q.jsonl", {"question": "who", "paragraphs": [paragraph("a")]}, line)
    assert caught.value.line == 2


def test_a_missing_or_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_questions(tmp_path / "none.jsonl", len, "bytes")
    with pytest.raises(InputError, match="no question in the file"):
        read(tmp_path / "q.jsonl")


@given(content=st.binary(max_size=200))
def test_whatever_the_bytes_the_error_is_ours(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("questions") / "q.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError):
        read_questions(path, len, "characters")

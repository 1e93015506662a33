"""MuSiQue's questions from the Hugging Face hub or from JSON lines: a seeded choice of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fairway.errors import InputError
from fairway.files import sha256
from fairway.sources.settings import QuestionSource
from fairway.traces.musique_file import QuestionRow, QuestionTexts, question_row, question_rows, question_texts
from fairway.traces.row import Place
from fairway.traces.streams import stream


def read_question_source(source: QuestionSource) -> tuple[QuestionTexts, str]:
    """Return the questions and what to say of their origin.

    Raises:
        InputError: the set cannot be had, has another schema or fewer questions than are asked for.
    """
    if source.file is not None:
        path = Path(source.file)
        rows: Sequence[Any] = list(question_rows(path))
        return question_texts(_chosen(rows, source)), f"{path.name}, SHA-256 {sha256(path)}"
    table = _from_hub(source)
    places = _places(len(table), source)
    rows = [question_row(table[place], Place(Path(source.hub), place + 1)) for place in places]
    return question_texts(rows), f"{source.hub}, split {source.split}, fingerprint {table._fingerprint}"


def _from_hub(source: QuestionSource) -> Any:
    """Return the set as `datasets` has it, from its cache where HF_HUB_OFFLINE or HF_DATASETS_OFFLINE is set."""
    remedy = (
        "check the network (HTTPS_PROXY, SSL_CERT_FILE); or fill the cache on a connected machine (HF_HOME) and set "
        "HF_HUB_OFFLINE=1; or name JSON lines in musique.file of the sources file"
    )
    try:
        import datasets
    except ImportError as error:
        raise InputError(
            "the package datasets is not installed", remedy="make real-env, or use musique.file"
        ) from error
    try:
        return datasets.load_dataset(source.hub, split=source.split)
    # Whatever the hub's client raises: its own errors, those of the network, of the cache and of the schema.
    except Exception as error:
        first_line = str(error).strip().partition("\n")[0]
        raise InputError(
            f"{source.hub} cannot be loaded ({type(error).__name__}: {first_line})", remedy=remedy
        ) from error


def _chosen(rows: Sequence[QuestionRow], source: QuestionSource) -> Iterator[QuestionRow]:
    return (rows[place] for place in _places(len(rows), source))


def _places(known: int, source: QuestionSource) -> list[int]:
    """Return the places of the questions to take, in the set's order."""
    if known < source.count:
        raise InputError(
            f"the set has {known} questions, {source.count} are asked for",
            remedy="lower musique.count, or use another set",
        )
    drawn: list[int] = stream(source.seed, "chosen questions").permutation(known)[: source.count].tolist()
    return sorted(drawn)

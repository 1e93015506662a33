"""Real corpora: tokenizers, questions, filings and traces, in the interface of the embedded ones."""

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.sources.models import byte_vocabulary, llama_model

from fairway.calibration.assembly import write_built_trace
from fairway.calibration.record import PhasedCalibration
from fairway.errors import InputError
from fairway.sources.corpora import real_filings, real_questions
from fairway.sources.edgar.sections import Section
from fairway.sources.edgar.text import FilingText
from fairway.sources.found import find_sources
from fairway.sources.mooncake import read_trace_source
from fairway.sources.musique import read_question_source
from fairway.sources.settings import QuestionSource, Sources, TokenizerSource, TraceSource, read_sources
from fairway.sources.tokenizer import Tokenizer, load_tokenizer
from fairway.traces import read_trace
from fairway.traces.corpus import numbering, read_corpus, write_corpus
from fairway.traces.draws import Draws
from fairway.traces.filings import Filings
from fairway.traces.token_file import read_tokens
from fairway.traces.workload import PhasedWorkload, load_workload

BOS = 9
SYSTEM_LIKE = 128


def byte_tokens() -> Tokenizer:
    return Tokenizer("bytes", BOS, lambda text: [10 + byte for byte in text.encode()])


def filing_text(number: int, characters: int = 40 * 512) -> FilingText:
    words = "".join(f"{number} {place} " for place in range(characters))[:characters]
    return FilingText(
        f"T{number}", "C", f"{number:010d}-23-000001", "2023-06-30", "0" * 64, (Section("", "", "", words),)
    )


@pytest.fixture(scope="module")
def filings() -> Filings:
    return real_filings([filing_text(number) for number in range(1, 9)], byte_tokens(), 1)


def test_a_real_corpus_is_read_as_written(filings: Filings, tmp_path: Path) -> None:
    path = tmp_path / "sec.json"
    write_corpus(filings, path)
    read = read_corpus(path)
    assert read == filings and read.sha256() == filings.sha256() and read.kind == "real (bytes)"
    assert read.text is not None and filings.text is not None
    assert read.text.ids.tolist() == filings.text.ids.tolist()
    assert read.text.origin[0] == f"T1 2023-06-30 0000000001-23-000001, SHA-256 {'0' * 64}"


def test_a_changed_text_is_refused(filings: Filings, tmp_path: Path) -> None:
    path = tmp_path / "sec.json"
    write_corpus(filings, path)
    fields = json.loads(path.read_text(encoding="utf-8"))
    ids = np.frombuffer(base64.b64decode(fields["text"]["ids"]), dtype="<u4").copy()
    ids[-1] += 1
    for change in ({"ids": base64.b64encode(ids).decode()}, {"ids": "?"}, {"ids": None}, {"bos": 8}):
        path.write_text(json.dumps({**fields, "text": fields["text"] | change}), encoding="utf-8")
        with pytest.raises(InputError, match=r"sec\.json: .*(token ids|was changed)"):
            read_corpus(path)


def test_too_short_a_filing_is_named() -> None:
    with pytest.raises(InputError, match="filing 0000000003-23-000001 of T3 has 99 tokens"):
        real_filings([filing_text(3, 98)], byte_tokens(), 1)


@pytest.fixture(scope="module")
def workload(root: Path) -> PhasedWorkload:
    loaded = load_workload(root / "config/workloads/sec-short-0.9.yaml")
    assert isinstance(loaded, PhasedWorkload)
    return replace(loaded, content=replace(loaded.content, units=40))


def test_both_files_come_from_one_pass_and_agree(filings: Filings, workload: PhasedWorkload, tmp_path: Path) -> None:
    calibration = PhasedCalibration(
        **{
            **{field: 0 for field in PhasedCalibration.__dataclass_fields__},
            "workload": workload.name,
            "seed": 3,
            "seed_asked": 3,
            "replaced": (),
            "profile": "p",
            "profile_evidence": "modelled",
            "corpus_sha256": filings.sha256(),
            "cache_blocks": 4000,
            "rate_1_per_s": 1.5,
            "calibrated_load": None,
        }
    )
    path, tokens_path = tmp_path / "3.jsonl", tmp_path / "3.tokens.parquet"
    write_built_trace(workload, filings, calibration, [path], tokens_path)
    written = path.read_bytes(), tokens_path.read_bytes()
    trace = read_trace(path)
    blocks: dict[tuple[int, ...], int] = {}
    prompts = list(read_tokens(tokens_path))
    assert [len(prompt) for prompt in prompts] == trace.prompt_tokens.tolist()
    for place, prompt in enumerate(prompts):
        assert prompt[0] == BOS and BOS not in prompt[1:]
        ids = trace.block_ids[trace.block_offsets[place] : trace.block_offsets[place + 1]].tolist()
        for number, block in enumerate(ids):
            assert blocks.setdefault(tuple(prompt[: 16 * (number + 1)]), block) == block
    assert len(set(blocks.values())) == len(blocks)
    assert trace.header["token_ids"]["kind"] == "text"
    assert trace.header["corpus_kind"] == "real (bytes)"
    write_built_trace(workload, filings, calibration, [path], tokens_path)
    assert (path.read_bytes(), tokens_path.read_bytes()) == written


def test_what_is_unique_is_text_of_the_corpus(filings: Filings, workload: PhasedWorkload) -> None:
    assert filings.text is not None
    text = filings.text.ids.tobytes()
    requests = workload.content.requests(filings, Draws(1), 60)
    for request in requests:
        for segment in request.segments:
            assert filings.tokens(segment, 1).tobytes() in text
            assert len(filings.tokens(segment, 1)) == segment.tokens
    numbers = numbering(filings, 1)
    shared = [set(numbers.ids(request)) for request in requests]
    assert any(one & other for one, other in pairwise(shared))


def tekken_model() -> dict[str, Any]:
    vocabulary = [{"rank": rank, "token_bytes": token} for rank, token in enumerate(byte_vocabulary(130_072))]
    config = {"pattern": r".|\s", "default_num_special_tokens": 1000, "default_vocab_size": 131_072}
    return {"config": config, "vocab": [*vocabulary, {"rank": 130_072, "token_bytes": "eA=="}]}


ROW = {"question": "Who?", "paragraphs": [{"title": "A", "paragraph_text": "B is C."}]}


def question_source(path: Path | None, count: int = 2) -> QuestionSource:
    return QuestionSource("someone/nothing-here", "train", None if path is None else str(path), count, 1)


def write_questions(path: Path, count: int) -> Path:
    rows = [{**ROW, "question": f"Who is {place}?"} for place in range(count)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_questions_from_lines(tmp_path: Path) -> None:
    path = write_questions(tmp_path / "questions.jsonl", 5)
    texts, origin = read_question_source(question_source(path))
    assert len(texts.questions) == 2 and texts.paragraphs == ("A\nB is C.\n\n",)
    assert read_question_source(question_source(path))[0] == texts
    assert origin.startswith("questions.jsonl, SHA-256 ")
    with pytest.raises(InputError, match="5 questions, 6 are asked for"):
        read_question_source(question_source(path, 6))
    corpus = real_questions(texts, origin, byte_tokens(), 1)
    write_corpus(corpus, tmp_path / "musique.json")
    read = read_corpus(tmp_path / "musique.json")
    assert read == corpus and read.text is not None
    path.write_text(json.dumps({"question": "Who?", "paragraphs": [{"title": "A"}]}) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"questions\.jsonl:1: a paragraph has no title or no text"):
        read_question_source(question_source(path, 1))


def test_the_hub_offline_ends_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    with pytest.raises(
        InputError, match=r"someone/nothing-here cannot be loaded .*HF_HUB_OFFLINE=1.*musique\.file"
    ) as caught:
        read_question_source(question_source(None))
    assert "\n" not in str(caught.value)


def test_the_hub_s_table_is_held_against_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    asked: list[Any] = []

    def load(name: str, split: str) -> Any:
        asked.append((name, split))
        return datasets.Dataset.from_list([{**ROW, "question": f"Who is {place}?"} for place in range(5)])

    monkeypatch.setattr(datasets, "load_dataset", load)
    texts, origin = read_question_source(question_source(None))
    assert len(texts.questions) == 2 and "fingerprint" in origin
    assert asked == [("someone/nothing-here", "train")]
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: datasets.Dataset.from_list([{"text": "x"}] * 3))
    with pytest.raises(InputError, match=r"someone/nothing-here:\d: the line has no question with paragraphs"):
        read_question_source(question_source(None))


def test_a_tokenizer_comes_from_its_file_or_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tokenizer.model"
    file.write_text(llama_model(), encoding="ascii")
    tokenizer = load_tokenizer(TokenizerSource("llama-3", str(file)))
    assert (tokenizer.encode("xy x"), tokenizer.bos) == ([*b"xy x"], 128_000)
    file.write_text(json.dumps(tekken_model()), encoding="ascii")
    assert load_tokenizer(TokenizerSource("mistral-tekken", str(file))).encode("yx") == [
        1000 + ord("y"),
        1000 + ord("x"),
    ]
    for content in ("", "not a model", "eQ==\n", "{}", "[" * 100_000):
        file.write_text(content, encoding="ascii")
        for name in ("llama-3", "mistral-tekken"):
            with pytest.raises(InputError, match=r"tokenizer\.model: the tokenizer model cannot be read"):
                load_tokenizer(TokenizerSource(name, str(file)))  # type: ignore[arg-type]
    monkeypatch.setattr("fairway.sources.tokenizer.find_spec", lambda _: None)
    with pytest.raises(
        InputError,
        match=r"llama-models \(Meta's licence\).*make real-env.*tokenizer\.name to another \(mistral-tekken\)",
    ):
        load_tokenizer(TokenizerSource("llama-3", None))
    with pytest.raises(InputError, match=r"Remedy: \.venv/bin/python -m pip install --no-deps mistral-common, or"):
        load_tokenizer(TokenizerSource("mistral-tekken", None))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda lines: lines[:-1], "127,999 different tokens, where 128,000 are numbered from 0"),  # cut off
        (lambda lines: [*lines[:-1], lines[0]], "127,999 different tokens"),
        (lambda lines: [*lines[:-1], "/////w== 0"], "128,000 different tokens"),
        (lambda lines: [*lines[:-1], "/////w== -1"], "128,000 different tokens"),
        (lambda lines: [*lines[:-1], f"/////w== {10**12}"], "128,000 different tokens"),
        (lambda lines: ["/////w== 0", *lines[1:]], "no token for the byte 0x00"),
    ],
)
def test_a_vocabulary_that_is_not_whole_is_refused(
    change: Callable[[list[str]], list[str]], problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "tokenizer.model"
    file.write_text("\n".join(change(llama_model().splitlines())), encoding="ascii")
    with pytest.raises(InputError, match=f"tokenizer model cannot be read \\({problem}"):
        load_tokenizer(TokenizerSource("llama-3", str(file)))


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("pattern", r"\w+", "its pattern leaves out parts of a text"),
        ("pattern", "", "no pattern that cuts text"),
        ("default_num_special_tokens", 0, "0 special tokens"),
        ("default_num_special_tokens", -5, "-5 special tokens"),
    ],
)
def test_a_model_that_would_lose_text_or_number_it_otherwise_is_refused(
    key: str, value: object, problem: str, tmp_path: Path
) -> None:
    model = tekken_model()
    if key == "default_num_special_tokens":
        model["config"]["default_vocab_size"] += value - model["config"][key]
    model["config"][key] = value
    file = tmp_path / "tekken.json"
    file.write_text(json.dumps(model), encoding="ascii")
    with pytest.raises(InputError, match=f"tokenizer model cannot be read \\({problem}"):
        load_tokenizer(TokenizerSource("mistral-tekken", str(file)))


def test_names_of_special_tokens_in_a_text_are_text(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.model"
    file.write_text(llama_model(), "ascii")
    tokenizer = load_tokenizer(TokenizerSource("llama-3", str(file)))
    text = "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|>"
    assert tokenizer.encode(text) == list(text.encode())


@pytest.fixture
def sources(root: Path) -> Sources:
    return read_sources(root / "config/sources.yaml")


def test_a_trace_by_address_is_fetched_once_by_its_checksum(
    start_mirror: Callable[[Path], Any], tmp_path: Path
) -> None:
    lines = b'{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}\n'
    served = tmp_path / "served"
    served.mkdir()
    (served / "trace.jsonl").write_bytes(lines)
    mirror = start_mirror(served)
    source = TraceSource(f"{mirror.address}/trace.jsonl", hashlib.sha256(lines).hexdigest(), None)
    for _ in range(2):
        corpus = read_trace_source(source, tmp_path / "downloads")
        assert (len(corpus.trace), corpus.kind) == (1, "real (lengths as published)")
    assert len(mirror.seen) == 1
    write_corpus(corpus, tmp_path / "mooncake.jsonl")
    assert read_corpus(tmp_path / "mooncake.jsonl").kind == corpus.kind
    by_path = read_trace_source(replace(source, file=str(served / "trace.jsonl")), tmp_path / "nowhere")
    assert by_path.sha256() == corpus.sha256()
    with pytest.raises(InputError, match="is expected"):
        read_trace_source(replace(source, sha256="0" * 64), tmp_path / "downloads")


def test_what_cannot_be_used_is_found_out_and_said(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairway.sources.found.load_tokenizer", lambda _: None)
    monkeypatch.setattr("fairway.sources.found.find_spec", lambda _: True)
    assert find_sources(sources).kind == "stand-in"
    assert "edgar.contact" in find_sources(sources).reason
    monkeypatch.setattr("fairway.sources.found.find_spec", lambda name: None if name == "lxml" else True)
    assert "the package lxml is not installed" in find_sources(sources).reason


def test_every_service_is_tried_once(
    sources: Sources, start_mirror: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairway.sources.found.load_tokenizer", lambda _: None)
    monkeypatch.setattr("fairway.sources.found.find_spec", lambda _: True)
    (tmp_path / "submissions").mkdir()
    mirror = start_mirror(tmp_path)
    edgar = replace(sources.edgar, data_url=mirror.address, archives_url=mirror.address, contact="T t@example.org")
    local = Sources(
        edgar, replace(sources.musique, file="q.jsonl"), replace(sources.mooncake, file="t.jsonl"), sources.tokenizer
    )
    assert "status 404" in find_sources(local).reason
    (tmp_path / "submissions/CIK0000320193.json").write_text("{}", encoding="utf-8")
    assert find_sources(local).kind == "real"
    assert len(mirror.seen) == 2

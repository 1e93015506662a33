"""The embedded corpora against the real data that they follow; where it is not there these tests are skipped."""

import re
from pathlib import Path

import pytest

from fairway.traces import read_trace
from fairway.traces.agents import MooncakeContent
from fairway.traces.corpora_card import Comparison, compare_agents, compare_filings, compare_questions
from fairway.traces.corpus import read_corpus
from fairway.traces.draws import Draws
from fairway.traces.embedded_agents import AgentFacts
from fairway.traces.facts import read_facts
from fairway.traces.filings import FilingFacts, Filings, make_filings
from fairway.traces.imported import import_trace
from fairway.traces.musique_file import read_questions
from fairway.traces.questions import QuestionFacts, Questions
from fairway.traces.real_facts import agent_facts, question_facts
from fairway.traces.screening import ScreeningRule
from fairway.traces.workload import sec_content

LARGEST_DISTANCE = 0.1
BYTES_A_TOKEN = 4.346  # of these paragraphs with Llama-3's tokenizer, which is not needed here


def by_bytes(text: str) -> int:
    return round(len(text.encode("utf-8")) / BYTES_A_TOKEN)


@pytest.fixture(scope="module")
def questions(real_data: Path) -> Questions:
    return read_questions(real_data / "musique/musique_200.jsonl", by_bytes, "by bytes")


def assert_near(comparisons: list[Comparison]) -> None:
    assert {c.statistic: c.distance for c in comparisons if c.distance > LARGEST_DISTANCE} == {}


@pytest.mark.parametrize("seed", range(1, 6))
def test_filings_are_like_real_ones(seed: int, root: Path) -> None:
    lengths = read_facts("sec", FilingFacts).filing_tokens
    content = sec_content(root / "config/workloads/sec-short-0.9.yaml")
    comparisons = compare_filings(Filings("sec", "real", 1, "", 512, lengths), make_filings(seed), content, seed)
    assert len(comparisons) == 5
    assert_near(comparisons)


@pytest.mark.parametrize("seed", range(1, 6))
def test_questions_are_like_real_ones(questions: Questions, seed: int) -> None:
    comparisons = compare_questions(questions, seed)
    assert len(comparisons) == 6
    assert_near(comparisons)


@pytest.mark.parametrize("seed", range(1, 4))
def test_agents_are_like_real_ones(real_data: Path, seed: int) -> None:
    comparisons = compare_agents(read_trace(real_data / "mooncake/mooncake_trace_1000.jsonl"), seed)
    assert len(comparisons) == 6
    assert_near(comparisons)


def test_the_committed_facts_are_those_of_the_real_data(real_data: Path, questions: Questions) -> None:
    agents = read_facts("mooncake", AgentFacts)
    assert agent_facts(read_trace(real_data / "mooncake/mooncake_trace_1000.jsonl"), agents.source) == agents
    committed, taken = read_facts("musique", QuestionFacts), question_facts(questions, "")
    assert (taken.questions, taken.paragraphs) == (committed.questions, committed.paragraphs)
    assert taken.matched_questions == committed.matched_questions
    for table in ("context_tokens", "paragraph_tokens", "question_tokens"):
        by_bytes_tokens, tokens = getattr(taken, table), getattr(committed, table)
        middle = len(tokens) // 2
        assert by_bytes_tokens[middle] == pytest.approx(tokens[middle], rel=0.08)


def test_the_data_card_s_distances_are_small(root: Path) -> None:
    text = (root / "data/README.md").read_text(encoding="utf-8")
    distances = [float(cell) for cell in re.findall(r"\| (\d\.\d{3}) \|$", text, flags=re.MULTILINE)]
    assert len(distances) == 17
    assert max(distances) <= LARGEST_DISTANCE


def test_the_conversation_trace_has_windows(real_data: Path) -> None:
    corpus = read_corpus(real_data / "mooncake/conversation_trace.jsonl")
    content = MooncakeContent("mooncake", 16_384, 1_000, "spread")
    facts = content.provenance(corpus, 5)
    assert (facts["left_out_requests"], facts["trace_requests"], facts["windows"]) == (2_731, 12_031, 9)
    assert facts["left_out_tokens"] / facts["trace_tokens"] == pytest.approx(0.63, abs=0.01)
    assert facts["tick_ns"] == 3_000_000_000
    assert max(request.prompt_tokens for request in content.requests(corpus, Draws(5), 1_000)) <= 16_384


@pytest.mark.parametrize(("name", "requests"), [("conv", 19_366), ("code", 8_819)])
def test_azure_s_traces_are_read_whole(real_data: Path, name: str, requests: int) -> None:
    path = real_data / f"azure/AzureLLMInferenceTrace_{name}.csv"
    assert len(import_trace(path, "azure", ScreeningRule()).trace) == requests

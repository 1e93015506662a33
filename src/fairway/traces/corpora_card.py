"""The data card: embedded corpora beside the real data that they follow, with the distances between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from fairway.traces.embedded_agents import AgentFacts, make_agent_trace
from fairway.traces.facts import read_facts
from fairway.traces.filings import FilingFacts, make_filings
from fairway.traces.musique import once_each
from fairway.traces.questions import QuestionFacts, Questions, make_questions
from fairway.traces.statistics import hit_shares, kolmogorov_smirnov, uses
from fairway.traces.trace import Trace

PERCENTILES = (10, 50, 90)


@dataclass(frozen=True)
class Comparison:
    """One statistic of a corpus: the values of the real data and of the embedded one."""

    corpus: str
    statistic: str
    real: npt.NDArray[Any]
    embedded: npt.NDArray[Any]

    @property
    def distance(self) -> float:
        """Kolmogorov-Smirnov distance between the two."""
        return kolmogorov_smirnov(self.real, self.embedded)


def compare_filings(seed: int) -> list[Comparison]:
    """Compare lengths alone: nobody's questions about the real filings are public."""
    real_tokens = read_facts("sec", FilingFacts).filing_tokens
    return [Comparison("sec", "tokens of a filing", np.array(real_tokens), np.array(make_filings(seed).filing_tokens))]


def compare_questions(real: Questions, seed: int) -> list[Comparison]:
    """Compare questions, each asked once in the order of the set."""
    both = (real, make_questions(seed))
    traces = [once_each(questions) for questions in both]

    def comparison(statistic: str, real: npt.ArrayLike, embedded: npt.ArrayLike) -> Comparison:
        return Comparison("musique", statistic, np.asarray(real), np.asarray(embedded))

    return [
        comparison("tokens of a prompt", *(trace.prompt_tokens for trace in traces)),
        comparison("tokens of a paragraph", *(questions.paragraph_tokens for questions in both)),
        comparison("hit share, cache without bound", *(hit_shares(trace) for trace in traces)),
        comparison(
            "questions a paragraph", *(uses(chain.from_iterable(questions.question_paragraphs)) for questions in both)
        ),
    ]


def compare_agents(real: Trace, seed: int) -> list[Comparison]:
    """Compare a real agent trace with as many of the embedded one's first requests."""
    traces = (real, make_agent_trace(seed).trace.first(len(real)))

    def comparison(statistic: str, real: npt.ArrayLike, embedded: npt.ArrayLike) -> Comparison:
        return Comparison("mooncake", statistic, np.asarray(real), np.asarray(embedded))

    return [
        comparison("tokens of a prompt", *(trace.prompt_tokens for trace in traces)),
        comparison("tokens of an answer", *(trace.output_tokens for trace in traces)),
        comparison("hit share, cache without bound", *(hit_shares(trace) for trace in traces)),
        comparison("requests a block", *(uses(trace.block_ids.tolist()) for trace in traces)),
    ]


def card(comparisons: Sequence[Comparison], seed: int) -> str:
    """Lay out the data card as Markdown."""
    sources = {
        "sec": read_facts("sec", FilingFacts).source,
        "musique": read_facts("musique", QuestionFacts).source,
        "mooncake": read_facts("mooncake", AgentFacts).source,
    }
    lines = [
        "# Data card",
        "",
        "Made by `scripts/describe_corpora.py`. An embedded corpus is made by the repository itself: numbers, no text.",
        "It follows the tables in `src/fairway/traces/facts/`, which `scripts/take_facts.py` takes from the real data",
        f"named here. Distances are Kolmogorov-Smirnov's, the embedded corpora those of seed {seed}.",
        "",
        *(f"* `{corpus}`: {source}." for corpus, source in sources.items()),
        "",
        "| corpus | statistic | real: values, 10%, 50%, 90% | embedded: the same | distance |",
        "| --- | --- | --- | --- | --- |",
        *(_line(comparison) for comparison in comparisons),
    ]
    return "\n".join(lines) + "\n"


def _line(comparison: Comparison) -> str:
    cells = [
        f"`{comparison.corpus}`",
        comparison.statistic,
        _summary(comparison.real),
        _summary(comparison.embedded),
        f"{comparison.distance:.3f}",
    ]
    return f"| {' | '.join(cells)} |"


def _summary(values: npt.NDArray[Any]) -> str:
    quantiles = np.percentile(values, PERCENTILES, method="inverted_cdf").tolist()
    shown = [f"{value:,}" if isinstance(value, int) else f"{value:.3f}" for value in quantiles]
    return f"{len(values):,}: {', '.join(shown)}"

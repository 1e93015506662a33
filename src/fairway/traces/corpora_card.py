"""The data card: real corpora beside the embedded ones that follow them, with the distances between the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from fairway.traces.chains import chains
from fairway.traces.corpus import Corpus, numbering
from fairway.traces.draws import Draws
from fairway.traces.embedded_agents import make_agent_trace
from fairway.traces.filings import Filings, make_filings
from fairway.traces.musique import once_each
from fairway.traces.prompts import number_and_assemble
from fairway.traces.questions import Questions, make_questions
from fairway.traces.sec import SecContent
from fairway.traces.statistics import hit_shares, kolmogorov_smirnov, uses
from fairway.traces.trace import Trace

PERCENTILES = (10, 50, 90)
CURVE_STEPS = 200
FARTHEST = 0.1  # distance that an embedded corpus is made to keep
ASKED = 600  # questions about filings that both are compared by
ENGINE_BLOCK_TOKENS = 16
SOURCES = {
    "sec": (
        "10-Q filings of 2023, SEC EDGAR (https://www.sec.gov)",
        "public documents; the list and the checksums come from the MIT-licensed test data of sec-parser",
    ),
    "musique": (
        "MuSiQue (Trivedi et al., TACL 2022), `dgslibisey/MuSiQue` on the Hugging Face hub",
        "CC BY 4.0",
    ),
    "mooncake": ("agent trace of kvcache-ai/Mooncake, FAST25-release (no text)", "Apache-2.0"),
}


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


@dataclass(frozen=True)
class Described:
    """A real corpus, the embedded one beside it, and what both are compared by."""

    real: Corpus
    embedded: Corpus
    comparisons: tuple[Comparison, ...]


def describe(real: Corpus, seed: int, content: SecContent) -> Described:
    """Compare a real corpus with the embedded one of ``seed``; filings also by the same questions about both."""
    if isinstance(real, Filings):
        filings = make_filings(seed)
        return Described(real, filings, tuple(compare_filings(real, filings, content, seed)))
    if isinstance(real, Questions):
        return Described(real, make_questions(seed), tuple(compare_questions(real, seed)))
    return Described(real, make_agent_trace(seed), tuple(compare_agents(real.trace, seed)))


def compare_filings(real: Filings, embedded: Filings, content: SecContent, seed: int) -> list[Comparison]:
    """Compare lengths, and what the same draws of questions make of both: nobody's questions are public."""
    traces = [_questions_about(corpus, content, seed) for corpus in (real, embedded)]
    lengths = Comparison("sec", "tokens of a filing", np.array(real.filing_tokens), np.array(embedded.filing_tokens))
    return [lengths, *_of_traces("sec", *traces)]


def compare_questions(real: Questions, seed: int) -> list[Comparison]:
    """Compare questions, each asked once in the order of the set."""
    both = (real, make_questions(seed))
    tokens = [np.array(questions.paragraph_tokens) for questions in both]
    shared = [uses(chain.from_iterable(questions.question_paragraphs)) for questions in both]
    return [
        *_of_traces("musique", *(once_each(questions) for questions in both)),
        Comparison("musique", "tokens of a paragraph", *tokens),
        Comparison("musique", "questions a paragraph", *shared),
    ]


def compare_agents(real: Trace, seed: int) -> list[Comparison]:
    """Compare a real agent trace with as many of the embedded one's first requests, or both as long as either is."""
    embedded = make_agent_trace(seed).trace
    count = min(len(real), len(embedded))
    traces = (real.first(count), embedded.first(count))
    return [
        *_of_traces("mooncake", *traces),
        Comparison("mooncake", "tokens of an answer", *(trace.output_tokens for trace in traces)),
        Comparison("mooncake", "requests a block", *(uses(trace.block_ids.tolist()) for trace in traces)),
    ]


def card(described: Sequence[Described], seed: int) -> str:
    """Lay out the data card's part about real and embedded corpora as Markdown."""
    comparisons = [comparison for each in described for comparison in each.comparisons]
    far = [comparison for comparison in comparisons if comparison.distance > FARTHEST]
    told = (
        f"All distances are at most {FARTHEST}."
        if not far
        else "Farther than that: "
        + ", ".join(f"{each.statistic} of `{each.corpus}` ({each.distance:.3f})" for each in far)
        + "."
    )
    lines = [
        "| corpus | real data | licence | real | embedded | tokenizer |",
        "| --- | --- | --- | --- | --- | --- |",
        *(_origin(each) for each in described),
        "",
        f"Embedded corpora are those of seed {seed}. Distances are Kolmogorov-Smirnov's; {FARTHEST} is what embedded "
        f"corpora are made to keep. {told} Hits are those of a cache without bound, uncached tokens what it leaves.",
        "",
        "| corpus | statistic | real: values, 10%, 50%, 90% | embedded: the same | distance |",
        "| --- | --- | --- | --- | --- |",
        *(_line(comparison) for comparison in comparisons),
    ]
    return "\n".join(lines) + "\n"


def curves(described: Sequence[Described]) -> list[dict[str, Any]]:
    """Return each statistic's two distributions as evenly spaced quantiles, for the figure."""
    shares = np.linspace(0.0, 1.0, CURVE_STEPS + 1)

    def curve(values: npt.NDArray[Any]) -> list[float]:
        return [float(value) for value in np.quantile(values, shares, method="inverted_cdf")]

    return [
        {
            "corpus": comparison.corpus,
            "statistic": comparison.statistic,
            "distance": comparison.distance,
            "real": curve(comparison.real),
            "embedded": curve(comparison.embedded),
        }
        for each in described
        for comparison in each.comparisons
    ]


def _of_traces(corpus: str, real: Trace, embedded: Trace) -> list[Comparison]:
    """Compare two traces by length, sharing, popularity and spread of the work that is left."""
    traces = (real, embedded)
    shares = [hit_shares(trace) for trace in traces]
    left = [np.rint((1 - share) * trace.prompt_tokens) for share, trace in zip(shares, traces, strict=True)]
    asked = [uses(chain.from_iterable(chains(trace, ENGINE_BLOCK_TOKENS))) for trace in traces]
    return [
        Comparison(corpus, "tokens of a prompt", *(trace.prompt_tokens for trace in traces)),
        Comparison(corpus, "hit share", *shares),
        Comparison(corpus, "requests a block of 16", *asked),
        Comparison(corpus, "uncached tokens", *left),
    ]


def _questions_about(corpus: Filings, content: SecContent, seed: int) -> Trace:
    requests = content.requests(corpus, Draws(seed), ASKED)
    times_ns = np.zeros(len(requests), dtype=np.int64)
    return number_and_assemble(requests, times_ns, [""] * len(requests), 1, numbering(corpus, seed))


def _origin(each: Described) -> str:
    name = each.real.name
    source, licence = SOURCES[name]
    cells = [f"`{name}`", source, licence, f"{each.real}", f"{each.embedded}", each.real.tokenizer]
    return f"| {' | '.join(cells)} |"


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
    whole = bool(np.all(values == np.rint(values)))
    shown = [f"{value:,.0f}" if whole else f"{value:.3f}" for value in quantiles]
    return f"{len(values):,}: {', '.join(shown)}"

"""The one document that all tables and the README are rendered from: each table's JSON under the table's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fairway.analysis.claims_table import claims_markdown
from fairway.analysis.comparison import comparison_markdown
from fairway.analysis.metrics_table import metrics_markdown
from fairway.analysis.regimes import regimes_markdown
from fairway.analysis.scheduling import scheduling_markdown
from fairway.analysis.second_seeds import corpora_markdown, second_seeds_markdown
from fairway.analysis.sensitivity import sensitivity_markdown
from fairway.analysis.tables import Document, read_table
from fairway.analysis.variants import variants_markdown
from fairway.errors import InputError

Render = Callable[[Document], str]
PAGES_OF_A_RUN: Mapping[str, Render] = {
    "claims": claims_markdown,
    "metrics": metrics_markdown,
    "comparison": comparison_markdown,
    "sensitivity": sensitivity_markdown,
    "regimes": regimes_markdown,
    "variants": variants_markdown,
}
# What stands beside a kept run's own tables: times of a machine, and the verdicts of other runs.
PAGES_BESIDE: Mapping[str, Render] = {
    "second-seeds": second_seeds_markdown,
    "corpora": corpora_markdown,
    "scheduling": scheduling_markdown,
}
PAGES: Mapping[str, Render] = {**PAGES_OF_A_RUN, **PAGES_BESIDE}
_REMEDY = "run the workflow, which writes it"


def summarise(files: Sequence[Path]) -> Document:
    """Put tables' JSON files together, each under its file's name, in the order of `PAGES`.

    Raises:
        InputError: a file is missing, unreadable, or of no known table.
    """
    parts = {}
    for file in files:
        if file.stem not in PAGES:
            raise InputError(f"no table is called {file.stem!r}", remedy=f"known: {', '.join(PAGES)}", file=file)
        parts[file.stem] = read_table(file, frozenset(), _REMEDY)
    return {name: parts[name] for name in PAGES if name in parts}


def read_summary(path: Path) -> Document:
    """Read ``summary.json``; InputError if it is missing or has no claims."""
    return read_table(path, frozenset({"claims"}), _REMEDY)


def pages(summary: Document) -> dict[str, str]:
    """Render every table of a summary as Markdown, by name."""
    return {name: render(summary[name]) for name, render in PAGES.items() if name in summary}

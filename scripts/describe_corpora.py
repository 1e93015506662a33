"""Write the data card: embedded corpora beside real data."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import not_negative, run
from fairway.files import write_text
from fairway.traces.corpora_card import card, compare_agents, compare_filings, compare_questions
from fairway.traces.corpus import as_kind, read_corpus
from fairway.traces.mooncake import read_trace
from fairway.traces.questions import Questions


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Compare the embedded corpora with the real data that they follow, and write the data card with "
        "the distances."
    )
    parser.add_argument("--questions", required=True, type=Path, help="real corpus of MuSiQue's questions (JSON)")
    parser.add_argument("--agent-trace", required=True, type=Path, help="Mooncake's agent trace, JSON lines")
    parser.add_argument("--seed", type=not_negative, default=1, help="seed of the embedded corpora (default 1)")
    parser.add_argument("--out", required=True, type=Path, help="Markdown file to write")
    arguments = parser.parse_args()
    questions = as_kind(Questions, read_corpus(arguments.questions))
    comparisons = [
        *compare_filings(arguments.seed),
        *compare_questions(questions, arguments.seed),
        *compare_agents(read_trace(arguments.agent_trace), arguments.seed),
    ]
    write_text(arguments.out, card(comparisons, arguments.seed))
    return 0


if __name__ == "__main__":
    run(main)

"""Take the facts that embedded corpora follow from real data."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import run
from fairway.traces.corpus import as_kind, read_corpus
from fairway.traces.facts import write_facts
from fairway.traces.mooncake import read_trace
from fairway.traces.questions import Questions
from fairway.traces.real_facts import agent_facts, question_facts

QUESTIONS_SOURCE = (
    "200 questions of MuSiQue (Trivedi et al., TACL 2022; CC BY 4.0; dgslibisey/MuSiQue on the Hugging Face hub)"
)
AGENT_TRACE_SOURCE = (
    "the first 1,000 requests (177 s) of Mooncake's agent trace (kvcache-ai/Mooncake, FAST25-release; Apache-2.0)"
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Take lengths, sharing and popularity from MuSiQue's questions and Mooncake's agent trace, as the "
        "tables that the embedded corpora follow."
    )
    parser.add_argument("--questions", required=True, type=Path, help="real corpus of MuSiQue's questions (JSON)")
    parser.add_argument("--agent-trace", required=True, type=Path, help="Mooncake's agent trace, JSON lines")
    parser.add_argument("--out-dir", required=True, type=Path, help="folder for musique.json and mooncake.json")
    arguments = parser.parse_args()
    questions = as_kind(Questions, read_corpus(arguments.questions))
    agents = agent_facts(read_trace(arguments.agent_trace), AGENT_TRACE_SOURCE)
    write_facts(question_facts(questions, QUESTIONS_SOURCE), arguments.out_dir / "musique.json")
    write_facts(agents, arguments.out_dir / "mooncake.json")
    return 0


if __name__ == "__main__":
    run(main)

"""Keep the tables of a run as reference results, and show them in the README."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.reference import origin_of, readme_with, reference_document, write_reference
from fairway.analysis.scheduling import read_scheduling
from fairway.analysis.second_seeds import corpora_document, read_second, second_seeds_document
from fairway.analysis.summary import read_summary
from fairway.command import run
from fairway.files import write_text


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Copy the tables of a run into the folder of references, with date, commit, versions and the hash "
        "of the configuration, and put its claims table into a README, between the README's markers."
    )
    parser.add_argument("--summary", type=Path, required=True, help="summary.json of the run")
    parser.add_argument("--scheduling", type=Path, help="JSON of time_ordering.py, to stand beside the tables")
    parser.add_argument(
        "--second-seeds", type=Path, help="reference.json of a run with other seeds, to set its verdicts beside these"
    )
    parser.add_argument(
        "--other-corpus", type=Path, help="reference.json of a run on another corpus, to set its verdicts beside these"
    )
    parser.add_argument("--config", type=Path, required=True, help="configuration file of the run")
    parser.add_argument("--date", required=True, help="day of the run, as 2026-01-31")
    parser.add_argument("--commit", required=True, help="commit that ran")
    parser.add_argument("--references", type=Path, required=True, help="folder of all references")
    parser.add_argument("--readme", type=Path, help="README.md to change (default: none)")
    arguments = parser.parse_args()
    name = arguments.config.stem
    origin = origin_of(name, arguments.config, arguments.date, arguments.commit)
    tables = dict(read_summary(arguments.summary))
    if arguments.second_seeds is not None:
        second = read_second(arguments.second_seeds)
        beside = second_seeds_document(arguments.config.name, tables["claims"], second, arguments.second_seeds)
        tables["second-seeds"] = beside
    if arguments.other_corpus is not None:
        other = read_second(arguments.other_corpus)
        tables["corpora"] = corpora_document(arguments.config.name, tables["claims"], other, arguments.other_corpus)
    if arguments.scheduling is not None:
        tables["scheduling"] = read_scheduling(arguments.scheduling)
    reference = reference_document(tables, origin)
    readme = arguments.readme
    text = None if readme is None else readme_with(readme.read_text(encoding="utf-8"), reference, readme)
    write_reference(arguments.references / name, reference)
    if text is not None:
        write_text(readme, text)
    return 0


if __name__ == "__main__":
    run(main)

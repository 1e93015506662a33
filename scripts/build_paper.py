"""Write the paper about a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import run
from fairway.files import write_sealed
from fairway.publication.facts import Sources, paper_facts
from fairway.publication.typesetting import typeset


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Write the paper about a run as PDF, and what it says of the run as JSON. Its text lies in the "
        "folder of typst files and has no result in it: every number comes from the files named here."
    )
    parser.add_argument("--text", type=Path, required=True, help="folder of typst files, with fairway.typ")
    parser.add_argument("--summary", type=Path, required=True, help="summary.json of the run")
    parser.add_argument("--calibrations", type=Path, nargs="+", required=True, help="JSON files of calibrations")
    parser.add_argument("--profiles", type=Path, nargs="+", required=True, help="JSON files of checked profiles")
    parser.add_argument("--figures", type=Path, nargs="*", default=[], help="figures (PDF), in the paper's order")
    parser.add_argument("--captions", type=Path, nargs="*", default=[], help="<figure>.rst of each figure")
    parser.add_argument("--parity", type=Path, required=True, help="JSON of the comparison with vLLM's scheduler")
    parser.add_argument("--configuration", type=Path, required=True, help="folder with the workloads' files")
    parser.add_argument("--out-facts", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--out-pdf", type=Path, required=True, help="PDF file to write")
    arguments = parser.parse_args()
    sources = Sources(
        arguments.summary,
        tuple(arguments.calibrations),
        tuple(arguments.profiles),
        tuple(arguments.figures),
        tuple(arguments.captions),
        arguments.parity,
        arguments.configuration,
    )
    facts = paper_facts(sources)
    typeset(arguments.text, facts, arguments.figures, arguments.out_pdf)
    write_sealed(arguments.out_facts, facts)
    return 0


if __name__ == "__main__":
    run(main)

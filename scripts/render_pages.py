"""Render the tables of a run as pages of the HTML report."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import run
from fairway.publication.report_pages import write_report_pages


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Write every table of a run, and what the run rests on, as HTML pages that need no other file; and "
        "the claims without a head, to be put into the report's overview."
    )
    parser.add_argument("--summary", type=Path, required=True, help="summary.json of the run")
    parser.add_argument("--calibrations", type=Path, nargs="+", required=True, help="JSON files of calibrations")
    parser.add_argument("--settings", type=Path, nargs="+", required=True, help="files whose checksums are named")
    parser.add_argument("--out-dir", type=Path, required=True, help="folder to write")
    arguments = parser.parse_args()
    write_report_pages(arguments.summary, arguments.calibrations, arguments.settings, arguments.out_dir)
    return 0


if __name__ == "__main__":
    run(main)

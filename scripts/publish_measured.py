"""Keep a day's measurements in the repository and show them in the README."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.figures.seal import is_whole
from fairway.analysis.measured import read_comparison
from fairway.analysis.measured_page import measured_page, measured_summary, read_measurement, refuse_edited
from fairway.analysis.readme import replace_between
from fairway.analysis.tables import edited_pages, read_table
from fairway.command import run
from fairway.errors import InputError
from fairway.files import write_text
from fairway.measuring.day import load_day

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("json", "csv", "md")


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Copy the tables, the profile and the figures of finished measurements to a folder that is kept, "
        "write a page of them, marked as measured, and say in the README what they found."
    )
    parser.add_argument("--day", required=True, type=Path, help="configuration of measurements (YAML)")
    parser.add_argument("--results", required=True, type=Path, help="folder of results, <profile>/tables below it")
    parser.add_argument("--kept", required=True, type=Path, help="folder that is kept, beside or below the README")
    parser.add_argument("--readme", required=True, type=Path, help="page with a section 'measured runs'")
    arguments = parser.parse_args()
    day = load_day(arguments.day, ROOT)
    name = day.profile.name
    source, kept = arguments.results / name, arguments.kept / name
    stages = [stage.name for stage in day.stages]
    tables = [read_comparison(source / f"tables/{stage}.json") for stage in stages]
    refuse_edited(tables)
    profile = read_measurement(source / "profile.json")
    read_table(source / "tables/claims.json", frozenset({"claims"}), "run make measured, which answers them")
    figures = [source / f"figures/{name}.svg" for name in ("profile", "runs")]
    edited = [figure for figure in figures if not is_whole(figure)]
    for table in (*stages, "claims"):
        edited += [source / "tables" / page for page in edited_pages(source / f"tables/{table}.json")]
    if edited:
        raise InputError(
            "was edited after it was written", remedy="delete it; make measured makes it again", file=edited[0]
        )
    files = [source / f"tables/{table}.{kind}" for table in (*stages, "claims") for kind in KINDS]
    texts = {file.name: file.read_text(encoding="utf-8") for file in (*files, source / "profile.json", *figures)}
    readme = arguments.readme.read_text(encoding="utf-8")
    here = kept.relative_to(arguments.readme.parent) if kept.is_relative_to(arguments.readme.parent) else kept
    words = measured_summary(name, tables, here.as_posix())
    shown = replace_between(readme, "measured runs", words, arguments.readme)
    page = measured_page(name, tables, profile, day.seeds.count, "runs.svg")
    for file_name, text in texts.items():  # from here on all is there and sound
        write_text(kept / file_name, text)
    write_text(kept / "README.md", page + "\n")
    write_text(arguments.readme, shown)
    return 0


if __name__ == "__main__":
    run(main)

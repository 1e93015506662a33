"""Keep a day's measurements in the repository and show them in the README."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.measured import read_comparison
from fairway.analysis.measured_page import measured_page, measured_summary, refuse_edited
from fairway.analysis.readme import replace_between
from fairway.analysis.tables import read_table
from fairway.command import run
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
    profile = read_table(source / "profile.json", frozenset({"measurement"}), "measure it")
    files = [f"tables/{table}.{kind}" for table in (*stages, "claims") for kind in KINDS]
    for file in (*files, "profile.json", "figures/profile.svg", "figures/runs.svg"):
        write_text(kept / Path(file).name, (source / file).read_text(encoding="utf-8"))
    seeds = day.seeds.count
    write_text(kept / "README.md", measured_page(name, tables, profile, seeds, "runs.svg") + "\n")
    here = kept.relative_to(arguments.readme.parent) if kept.is_relative_to(arguments.readme.parent) else kept
    words = measured_summary(name, tables, here.as_posix())
    readme = arguments.readme.read_text(encoding="utf-8")
    write_text(arguments.readme, replace_between(readme, "measured runs", words, arguments.readme))
    return 0


if __name__ == "__main__":
    run(main)

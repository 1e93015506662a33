"""Print the claims table to the terminal."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.claims_table import is_sound, read_document, terminal
from fairway.analysis.figures.seal import is_whole
from fairway.analysis.tables import edited_lines, edited_pages
from fairway.command import run


def parse() -> argparse.Namespace:
    """Describe and read the command line."""
    parser = argparse.ArgumentParser(
        description="Print the claims table. Exit status 1 if a result it rests on was edited or is missing, "
        "or a table, figure or page was edited."
    )
    parser.add_argument("--claims", type=Path, required=True, help="claims.json as answer_claims.py wrote it")
    parser.add_argument(
        "--tables", type=Path, nargs="*", default=[], help="other tables (JSON) whose pages are checked for edits, too"
    )
    parser.add_argument(
        "--figures",
        type=Path,
        nargs="*",
        default=[],
        help="figures, pages, notebooks: checked for edits, too",
    )
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    document = read_document(arguments.claims)
    edited = [page for table in [arguments.claims, *arguments.tables] for page in edited_pages(table)]
    edited += [files for table in arguments.tables for files in edited_lines(table)]
    edited += [str(figure) for figure in arguments.figures if not is_whole(figure)]
    print(terminal(document, arguments.claims.parent))
    for page in edited:
        print(f"EDITED after it was written: {page}. Delete it and run the workflow, which makes it again.")
    return 0 if is_sound(document) and not edited else 1


if __name__ == "__main__":
    run(main)

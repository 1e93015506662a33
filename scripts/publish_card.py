"""Show the data card on a page."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.readme import replace_between
from fairway.command import run
from fairway.files import write_text


def main() -> int:
    parser = argparse.ArgumentParser(description="Put the data card's tables and its figure into a page.")
    parser.add_argument("--card", required=True, type=Path, help="Markdown file that describe_corpora.py wrote")
    parser.add_argument("--figure", required=True, type=Path, help="figure that plot_corpora.py drew (SVG)")
    parser.add_argument("--figure-copy", required=True, type=Path, help="where the page will find the figure")
    parser.add_argument("--page", required=True, type=Path, help="page with a section 'data card'")
    arguments = parser.parse_args()
    write_text(arguments.figure_copy, arguments.figure.read_text(encoding="utf-8"))
    page, card = (path.read_text(encoding="utf-8") for path in (arguments.page, arguments.card))
    write_text(arguments.page, replace_between(page, "data card", card, arguments.page))
    return 0


if __name__ == "__main__":
    run(main)

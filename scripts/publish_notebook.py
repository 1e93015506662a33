"""Make an executed notebook fit to keep."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import run
from fairway.publication.notebook import publish


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Write an executed notebook without the hour, the machine and the job in it, and the same as an "
        "HTML page that needs no network."
    )
    parser.add_argument("--executed", type=Path, required=True, help="notebook as it was executed")
    parser.add_argument("--out-notebook", type=Path, required=True, help="notebook to write")
    parser.add_argument("--out-html", type=Path, required=True, help="HTML page to write")
    arguments = parser.parse_args()
    publish(arguments.executed, arguments.out_notebook, arguments.out_html)
    return 0


if __name__ == "__main__":
    run(main)

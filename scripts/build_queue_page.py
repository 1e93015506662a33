"""Build the page on which a queue can be watched."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.command import run
from fairway.watching.page import read_recording, write_page


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Put recordings of queues and the player into one page of HTML that needs nothing else."
    )
    parser.add_argument("--recordings", required=True, nargs="+", type=Path, help="files of record_queue.py, in order")
    parser.add_argument("--out", required=True, type=Path, help="HTML file to write")
    arguments = parser.parse_args()
    write_page(arguments.out, [read_recording(file) for file in arguments.recordings])
    return 0


if __name__ == "__main__":
    run(main)

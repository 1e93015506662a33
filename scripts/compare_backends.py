"""Compare the rows of two backends."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.agreement import compare_backends, write_agreement
from fairway.command import run


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Compare the request and hook rows of two backends byte by byte. Ends with status 1 if any differ; "
        "the first row that does is named."
    )
    parser.add_argument("--rows-root", nargs=2, type=Path, required=True, help="the two backends' folders of rows")
    parser.add_argument("--workloads", nargs="+", required=True, help="workloads to compare")
    parser.add_argument("--policies", nargs="+", required=True, help="policies to compare")
    parser.add_argument("--out", type=Path, required=True, help="JSON file for the result")
    arguments = parser.parse_args()
    agreement = compare_backends(tuple(arguments.rows_root), arguments.workloads, arguments.policies)
    write_agreement(agreement, arguments.out)
    print(f"{agreement.files - len(agreement.differences)} of {agreement.files} files of rows are byte-identical")
    for difference in agreement.differences:
        print(difference)
    return 1 if agreement.differences else 0


if __name__ == "__main__":
    run(main)

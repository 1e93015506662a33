"""Draw a measured profile's residuals."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.figures import profile_residuals
from fairway.analysis.options import add_picture_options
from fairway.analysis.tables import read_table
from fairway.command import run


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Draw how far a measured profile's two parts, added up, are from each measured step."
    )
    parser.add_argument("--profile", required=True, type=Path, help="measured profile (JSON)")
    add_picture_options(parser)
    arguments = parser.parse_args()
    profile = read_table(arguments.profile, frozenset({"device", "model", "measurement"}), "measure it")
    profile_residuals.plot(profile, arguments.out_pdf, arguments.out_svg)
    return 0


if __name__ == "__main__":
    run(main)

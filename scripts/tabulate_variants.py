"""Tabulate what variants of workloads change."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.claims_table import read_document
from fairway.analysis.options import add_study_options, study_of, variant_of
from fairway.analysis.tables import write_table
from fairway.analysis.variants import latency_rows, variant_rows, variants_document, variants_markdown
from fairway.command import run


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Write variants.csv, variants.md and variants.json: which claims get another verdict if varied "
        "workloads stand in their own ones' places, and every policy's latencies beside those by default."
    )
    add_study_options(parser)
    parser.add_argument(
        "--variant",
        nargs="+",
        action="append",
        required=True,
        metavar=("NAME", "WORKLOAD=VARIED"),
        help="a variant and results that stand for workloads' own: raw-ticks mooncake-0.9=mooncake-0.9--raw-ticks",
    )
    parser.add_argument("--answers", type=Path, required=True, help="claims.json, the answers by default")
    parser.add_argument("--out-dir", type=Path, required=True, help="folder for the three files of the table")
    arguments = parser.parse_args()
    study = study_of(arguments)
    variants = [variant_of(arguments, name, pairs) for name, *pairs in arguments.variant]
    rows = variant_rows(study, variants, read_document(arguments.answers))
    document = variants_document(rows, latency_rows(study, variants), variants, study)
    write_table(arguments.out_dir, "variants", document, variants_markdown(document))
    return 0


if __name__ == "__main__":
    run(main)

"""Measure the figures of causes on the results of their experiment."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.bootstrap import Resampling
from fairway.analysis.causes import measured_document, read_causes
from fairway.analysis.claims import read_claims
from fairway.analysis.collection import Wanted, collect
from fairway.analysis.study import Study
from fairway.command import run
from fairway.configuration import load_configuration
from fairway.files import write_sealed

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Evaluate the figures of every cause that names a configuration, on the rows that this "
        "configuration made, and write them to <claim>.json."
    )
    parser.add_argument("--config", type=Path, required=True, help="configuration of the experiment, as causes name it")
    parser.add_argument("--defaults", type=Path, default=ROOT / "config/quick.yaml", help="what it is put over")
    parser.add_argument("--causes", type=Path, required=True, help="the file of causes (YAML)")
    parser.add_argument("--claims", type=Path, required=True, help="the claims file (YAML)")
    parser.add_argument(
        "--rows-root", type=Path, required=True, help="folder of the rows, <workload>/<policy> below it"
    )
    parser.add_argument("--out-dir", type=Path, required=True, help="folder for <claim>.json")
    arguments = parser.parse_args()
    configuration = load_configuration([arguments.defaults, arguments.config], ROOT)
    claims = read_claims(arguments.claims)
    wanted = Wanted(arguments.rows_root, configuration.replayed_workloads, configuration.all_policies)
    resampling = Resampling(configuration.bootstrap.resamples, configuration.bootstrap.seed)
    study = Study.of(collect(wanted), claims, resampling)
    for cause in read_causes(arguments.causes, claims.ids):
        if cause.configuration == arguments.config:
            write_sealed(arguments.out_dir / f"{cause.claim}.json", measured_document(cause, ROOT, study))
            print(f"{cause.claim}: {', '.join(cause.figures)}")
    return 0


if __name__ == "__main__":
    run(main)

"""Answer the claims of the paper from the rows of replays."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairway.analysis.bootstrap import Resampling
from fairway.analysis.causes import known_causes
from fairway.analysis.claims import read_claims
from fairway.analysis.claims_table import claims_document, is_sound, read_document, terminal, write_claims
from fairway.analysis.inputs import Expected, Group, gather, parse_group
from fairway.analysis.verdicts import answer_claims
from fairway.command import not_negative, positive, run

_REMEDY_FOR_MEASURED = "take it from the repository again, or delete it and run make measured"


def parse() -> argparse.Namespace:
    """Describe and read the command line."""
    parser = argparse.ArgumentParser(
        description="Decide every claim of the claims file and write claims.csv, claims.md and claims.json. "
        "Exit status 1 if a result was edited after it was written or is missing; the tables say which and are written "
        "all the same."
    )
    parser.add_argument(
        "--rows-root", type=Path, required=True, help="folder of the rows, <workload>/<policy> below it"
    )
    parser.add_argument("--workloads", nargs="+", required=True, help="workloads that should have results")
    parser.add_argument(
        "--policies", nargs="+", required=True, help="policies that should have results on each of them"
    )
    parser.add_argument("--seeds-expected", type=positive, required=True, help="seeds that each result should have")
    parser.add_argument(
        "--also",
        nargs="*",
        default=[],
        metavar="GROUP",
        help="results with other policies or seeds, each group as WORKLOAD,...:POLICY,...:SEEDS",
    )
    parser.add_argument("--about", nargs="+", metavar="WORKLOAD", help="answer only claims that ask no other workload")
    parser.add_argument("--claim", metavar="ID", help="answer this claim alone")
    parser.add_argument(
        "--stand-for",
        nargs="*",
        default=[],
        type=_stand_in,
        metavar="PAPERS=OURS",
        help="ask the claims that can be of workloads that stand for the paper's, and no others",
    )
    parser.add_argument("--exact", type=Path, required=True, help="outcomes of the exact checks (JSON)")
    parser.add_argument("--claims", type=Path, required=True, help="the claims file (YAML)")
    parser.add_argument(
        "--causes",
        nargs=2,
        type=Path,
        metavar=("FILE", "FOLDER"),
        help="the file of causes (YAML) and the folder of their figures, to say why claims do not hold",
    )
    parser.add_argument(
        "--measured",
        nargs="*",
        default=[],
        type=Path,
        metavar="FILE",
        help="claims.json of measurements on a device, each of which gets a column",
    )
    parser.add_argument(
        "--root",
        type=Path,
        default=Path(__file__).resolve().parents[1],
        help="folder that the causes' configurations are in (default: this script's repository)",
    )
    parser.add_argument(
        "--resamples", type=positive, default=10_000, help="resamples of the bootstrap (default: %(default)s)"
    )
    parser.add_argument(
        "--bootstrap-seed", type=not_negative, default=1, help="seed of the bootstrap (default: %(default)s)"
    )
    parser.add_argument("--out-dir", type=Path, required=True, help="folder for the three tables")
    parser.add_argument(
        "--status-later",
        action="store_true",
        help="exit with status 0 also where a result is edited or missing, and leave that to show_claims.py",
    )
    return parser.parse_args()


def _stand_in(text: str) -> tuple[str, str]:
    papers, equals, ours = text.partition("=")
    if not (papers and equals and ours):
        raise argparse.ArgumentTypeError(f"{text!r} is not like sec-flood=cpu-flood")
    return papers, ours


def main() -> int:
    arguments = parse()
    resampling = Resampling(arguments.resamples, arguments.bootstrap_seed)
    expected = Expected(
        arguments.rows_root,
        (
            Group(tuple(arguments.workloads), tuple(arguments.policies), arguments.seeds_expected),
            *map(parse_group, arguments.also),
        ),
        arguments.exact,
    )
    claims = read_claims(arguments.claims)
    causes = known_causes(*arguments.causes, claims.ids, arguments.root) if arguments.causes else ()
    stand_ins = dict(arguments.stand_for)
    if stand_ins:
        claims = claims.asked_of(stand_ins)
    if arguments.about:
        claims = claims.about(arguments.about)
    if arguments.claim:
        claims = claims.only(arguments.claim)
    inputs = gather(expected)
    answers = answer_claims(claims, inputs, resampling)
    measured = [read_document(file, _REMEDY_FOR_MEASURED) for file in arguments.measured]
    document = claims_document(answers, inputs, expected, arguments.claims, resampling, causes, measured)
    if stand_ins:
        document["stand_ins"] = stand_ins
    write_claims(arguments.out_dir, document)
    if arguments.status_later or is_sound(document):
        return 0
    print(terminal(document, arguments.out_dir))
    return 1


if __name__ == "__main__":
    run(main)

"""The command-line options that the scripts of tables and figures share."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path

from fairway.analysis.bootstrap import Resampling
from fairway.analysis.claims import read_claims
from fairway.analysis.collection import Collection, Wanted, collect
from fairway.analysis.results import read_result
from fairway.analysis.study import Study
from fairway.analysis.variants import Variant
from fairway.command import not_negative, positive
from fairway.errors import InputError


def add_result_options(parser: argparse.ArgumentParser) -> None:
    """Add which results are read; those that are not there are named in the output."""
    parser.add_argument(
        "--rows-root", type=Path, required=True, help="folder of the rows, <workload>/<policy> below it"
    )
    parser.add_argument("--workloads", nargs="+", required=True, help="workloads to show, as far as they are there")
    parser.add_argument("--policies", nargs="+", required=True, help="policies to show, as far as they are there")
    parser.add_argument(
        "--lacking-workloads", nargs="+", default=[], metavar="NAME", help="workloads to name as not there"
    )
    parser.add_argument("--lacking-policies", nargs="+", default=[], metavar="NAME", help="policies to name likewise")


def add_study_options(parser: argparse.ArgumentParser) -> None:
    """Add which results are read, whose groups of policies are meant, and how intervals are drawn."""
    add_result_options(parser)
    parser.add_argument("--claims", type=Path, required=True, help="the claims file (YAML), which names the groups")
    parser.add_argument(
        "--resamples", type=positive, default=10_000, help="resamples of the bootstrap (default: %(default)s)"
    )
    parser.add_argument(
        "--bootstrap-seed", type=not_negative, default=1, help="seed of the bootstrap (default: %(default)s)"
    )


def add_picture_options(parser: argparse.ArgumentParser) -> None:
    """Add where a figure is written."""
    parser.add_argument("--out-pdf", type=Path, required=True, help="the PDF to write")
    parser.add_argument("--out-svg", type=Path, required=True, help="the SVG to write")


def collection_of(arguments: argparse.Namespace) -> Collection:
    """Read the results that `add_result_options` asked for; InputError if none is there."""
    wanted = Wanted(
        arguments.rows_root,
        tuple(arguments.workloads),
        tuple(arguments.policies),
        tuple(arguments.lacking_workloads),
        tuple(arguments.lacking_policies),
    )
    return collect(wanted)


def study_of(arguments: argparse.Namespace) -> Study:
    """Read what `add_study_options` asked for; InputError if no result is there or the claims file is bad."""
    resampling = Resampling(arguments.resamples, arguments.bootstrap_seed)
    return Study.of(collection_of(arguments), read_claims(arguments.claims), resampling)


def variant_of(arguments: argparse.Namespace, name: str, pairs: Sequence[str]) -> Variant:
    """Read a variant's results, written ``WORKLOAD=VARIED``, under the policies that `add_result_options` asked for.

    Raises:
        InputError: there is no pair, one is none, or a result is missing.
    """
    splits = [pair.partition("=") for pair in pairs]
    if not splits or not all(workload and varied for workload, _, varied in splits):
        raise InputError(
            f"--variant {name} {' '.join(pairs)} names no WORKLOAD=VARIED",
            remedy="write it like raw-ticks mooncake-0.9=mooncake-0.9--raw-ticks",
        )
    results = {
        (workload, policy): dataclasses.replace(read_result(arguments.rows_root, varied, policy), workload=workload)
        for workload, _, varied in splits
        for policy in arguments.policies
    }
    return Variant(name, results)

"""Results that may be there or not, and words for what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairway.analysis import wording
from fairway.analysis.results import Result, read_result, result_folder
from fairway.errors import InputError
from fairway.rows import RUNS

Key = tuple[str, str]  # workload, policy


@dataclass(frozen=True)
class Collection:
    """The results of some workloads and policies that were found."""

    workloads: tuple[str, ...]
    policies: tuple[str, ...]
    results: dict[Key, Result]

    @property
    def listed(self) -> list[Result]:
        """The results by workload, then by policy."""
        return list(self.results.values())

    @property
    def found_workloads(self) -> tuple[str, ...]:
        """Workloads with at least one result, in the order asked for."""
        return tuple(name for name in self.workloads if any(workload == name for workload, _ in self.results))

    @property
    def found_policies(self) -> tuple[str, ...]:
        """Policies with at least one result, in the order asked for."""
        return tuple(name for name in self.policies if any(policy == name for _, policy in self.results))

    def of(self, workload: str) -> list[Result]:
        """Return the results of one workload, by policy."""
        return [result for result in self.listed if result.workload == workload]

    def missing(self) -> str:
        """Say what was asked for and not found; "" if nothing."""
        workloads = [f"workload {name}" for name in self.workloads if name not in self.found_workloads]
        policies = [f"policy {name}" for name in self.policies if name not in self.found_policies]
        single = [
            f"result {workload}/{policy}"
            for workload in self.found_workloads
            for policy in self.found_policies
            if (workload, policy) not in self.results
        ]
        return wording.needs([*workloads, *policies, *single])


@dataclass(frozen=True)
class Wanted:
    """Which results to read, and the names of what is known to be lacking: it is named, not looked for."""

    rows_root: Path
    workloads: tuple[str, ...]
    policies: tuple[str, ...]
    lacking_workloads: tuple[str, ...] = ()
    lacking_policies: tuple[str, ...] = ()


def collect(wanted: Wanted) -> Collection:
    """Read those of the wanted results that are there.

    Raises:
        InputError: none of them does, or one is unreadable.
    """
    keys = [(workload, policy) for workload in wanted.workloads for policy in wanted.policies]
    there = [key for key in keys if (result_folder(wanted.rows_root, *key) / RUNS.file_name).is_file()]
    if not there:
        raise InputError(
            f"none of the results that this needs: {wording.names(wanted.workloads, 'workloads')} under "
            f"{wording.names(wanted.policies, 'policies')}",
            remedy="add them to the configuration and run the workflow, which replays them",
            file=wanted.rows_root,
        )
    return Collection(
        workloads=(*wanted.workloads, *wanted.lacking_workloads),
        policies=(*wanted.policies, *wanted.lacking_policies),
        results={key: read_result(wanted.rows_root, *key) for key in there},
    )

"""Which workloads one job replays under a policy, and which ones have the same seeds.

A replay takes less time than starting Python for it. So a job takes a batch of workloads: enough that its start costs
little, few enough that little is lost where it is killed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass

from fairway.configuration import Configuration

MOST_WORKLOADS = 30


@dataclass(frozen=True)
class Batch:
    """Workloads that one job replays."""

    workloads: tuple[str, ...]

    @property
    def name(self) -> str:
        """The first workload's name, as part of a rule's name."""
        return re.sub(r"\W", "_", self.workloads[0])


def replay_batches(
    configuration: Configuration, profile_of: Callable[[str], str], apart: Collection[str]
) -> list[Batch]:
    """Put workloads of the same policies and profile together; those of ``apart``, which also run alone, apart."""
    groups: dict[Hashable, list[str]] = {}
    for workload in configuration.replayed_workloads:
        alike = (configuration.policies_for(workload), profile_of(workload), workload in apart)
        groups.setdefault(alike, []).append(workload)
    return [
        Batch(tuple(group[first : first + MOST_WORKLOADS]))
        for group in groups.values()
        for first in range(0, len(group), MOST_WORKLOADS)
    ]


def workloads_by_seeds(configuration: Configuration) -> dict[tuple[int, ...], list[str]]:
    """Put workloads of the same seeds together: one rule makes their traces, a job each."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for workload in configuration.replayed_workloads:
        groups.setdefault(configuration.seeds_for(workload), []).append(workload)
    return groups

"""The targets of a load change: in each phase LPM's median and FCFS's p99, within a tenth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairway.analysis.study import Study

TOLERANCE = 1.10  # as in the claim "six-targets"
REFERENCES = {"p50": "lpm", "p99": "fcfs"}  # whose percentile is the target
_PHASES = "target_phases"  # the claims file's group of phases


@dataclass(frozen=True)
class Target:
    """One percentile of a policy in a phase over that of the policy which is best at it."""

    workload: str
    policy: str
    phase: str
    percentile: str
    ratio: float

    @property
    def is_met(self) -> bool:
        """Whether the policy is at most a tenth above the target."""
        return self.ratio <= TOLERANCE


def targets(study: Study) -> list[Target]:
    """Return every target that can be asked, by workload, policy, phase and percentile."""
    return [
        target
        for result in study.collection.listed
        for phase in study.claims.names[_PHASES]
        for percentile in REFERENCES
        if not np.isnan((target := _target(study, result.workload, result.policy, phase, percentile)).ratio)
    ]


def _target(study: Study, workload: str, policy: str, phase: str, percentile: str) -> Target:
    of = study.functions(workload)[percentile]
    here, aim = of(policy, phase=phase)[0], of(REFERENCES[percentile], phase=phase)[0]
    return Target(workload, policy, phase, percentile, float(here / aim))

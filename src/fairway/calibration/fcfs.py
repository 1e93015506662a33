"""First-come-first-served, the one policy that calibration may run: it must not look at the answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from fairway.engine import Limits
from fairway.policies import make_policy
from fairway.profile import Profile
from fairway.replay import Replay, replay
from fairway.traces import Trace

RunFcfs = Callable[[Trace, int], Replay]  # a trace, and the cache's size in blocks


def fcfs_on(profile: Profile, limits: Limits) -> RunFcfs:
    """Return what replays a trace under FCFS on this device; of ``limits`` all but the cache's size counts."""

    def run_fcfs(trace: Trace, cache_blocks: int) -> Replay:
        return replay(trace, make_policy("fcfs"), profile, dataclasses.replace(limits, cache_blocks=cache_blocks))

    return run_fcfs

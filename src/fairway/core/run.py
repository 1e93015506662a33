"""One replay through the core: of a policy that is a rule without a word to Python, else step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairway.core import layout as at
from fairway.core.arrays import Tracked, make_core
from fairway.core.asked import Asked
from fairway.core.blocks import Int64Array
from fairway.core.clock import Core, advance
from fairway.core.plan import Plan, plan_of
from fairway.core.prepared import Prepared
from fairway.engine import Limits
from fairway.hooks import HookRecorder, Hooks
from fairway.policies import Capability, Column, Policy, RulePolicy

STEPS_AT_ONCE = 4096  # between two reports of progress, and two collections of hook rows
Progress = Callable[[int, int], None]  # requests arrived, requests in all


@dataclass(frozen=True, eq=False)
class Result:
    """What happened to each request (arrays over the requests; times are -1 if it was refused), and to the engine."""

    start_ns: Int64Array
    first_token_ns: Int64Array
    hit_tokens: Int64Array
    refused: npt.NDArray[np.bool_]
    steps: int
    busy_ns: int
    end_ns: int
    evicted_blocks: int
    computed_tokens: int
    extrapolated_tokens: int
    hooks: Hooks | None


def run(
    prepared: Prepared,
    arrival_ns: Int64Array,
    head_ids: Callable[[], Int64Array],
    policy: Policy,
    limits: Limits,
    *,
    record_hooks: bool,
    progress: Progress | None,
) -> Result:
    """Replay requests that `not_covered` has nothing against. ``head_ids`` is asked if the policy can read them.

    Raises:
        InputError: the policy leaves requests waiting for ever, or it is asked for its order and answers wrongly.
    """
    plan = plan_of(policy)
    tracked = Tracked(
        hits=Column.HIT_TOKENS in policy.columns or record_hooks,
        remaining=Column.REMAINING_NS in policy.columns,
        hooks=STEPS_AT_ONCE if record_hooks and plan else 0,
        spared=Capability.VICTIM_RANK in policy.capabilities,
    )
    heads = head_ids() if plan is None or plan.reads_heads else np.empty(0, dtype=np.int64)
    core = make_core(prepared, arrival_ns, heads, limits, plan or Plan(), tracked)
    if plan is not None:
        assert isinstance(policy, RulePolicy)
        rows = _run_rule(core, policy, progress)
        return _result(core, Hooks.of(rows) if record_hooks else None)
    recorder = HookRecorder() if record_hooks else None
    Asked(core, policy, recorder).run(progress)
    return _result(core, recorder.hooks() if recorder else None)


def _run_rule(core: Core, policy: RulePolicy, progress: Progress | None) -> Int64Array:
    """Run to the end; return the hook rows."""
    state = core.state
    state[at.ADMISSIONS] = policy.memory.admissions
    parts = []
    is_left = True
    while is_left:
        is_left = advance(core, STEPS_AT_ONCE)
        parts.append(core.hook_rows[: state[at.HOOKS]].copy())
        state[at.HOOKS] = 0
        if progress is not None:
            progress(int(state[at.ARRIVED]), len(core.requests))
    policy.memory.admissions = int(state[at.ADMISSIONS])
    return np.concatenate(parts)


def _result(core: Core, hooks: Hooks | None) -> Result:
    facts, state = core.facts, core.state
    return Result(
        start_ns=facts[at.START_NS],
        first_token_ns=facts[at.FIRST_TOKEN_NS],
        hit_tokens=facts[at.HIT],
        refused=facts[at.REFUSED] != 0,
        steps=int(state[at.STEPS]),
        busy_ns=int(state[at.BUSY_NS]),
        end_ns=int(state[at.NOW_NS]),
        evicted_blocks=int(state[at.EVICTED_BLOCKS]),
        computed_tokens=int(state[at.COMPUTED_TOKENS]),
        extrapolated_tokens=int(state[at.EXTRAPOLATED_TOKENS]),
        hooks=hooks,
    )

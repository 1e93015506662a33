"""Replays a policy that is asked at every hook, as `fairway.engine.Scheduler` asks it; the steps are compiled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairway.core import layout as at
from fairway.core.blocks import Int64Array
from fairway.core.clock import Core, admit, close_step, go_on, open_step
from fairway.core.compiling import compiled
from fairway.core.formula import (
    ARRIVAL_NS,
    HEAD_ID,
    HIT_TOKENS,
    N_TOKENS,
    PREFILL_NS,
    REMAINING_NS,
    REQUEST_ID,
)
from fairway.core.queue import draw_together, leave
from fairway.core.victims import spare
from fairway.engine import HookObserver, refuse_stall
from fairway.policies import (
    Capability,
    Column,
    Policy,
    QueueView,
    checked_order,
    checked_victim_rank,
    tell_of,
    tell_of_hook,
)


@compiled
def _go_on(core: Core) -> bool:
    """Go on to the next step, the queue without gaps; whether there is one."""
    state, queue = core.state, core.queue
    if not go_on(core):
        return False
    if state[at.END_PLACE] > state[at.WAITING] > 0:
        draw_together(core.requests, state, queue.columns, queue.reals, queue.groups)
    return True


@compiled
def _open(core: Core) -> None:
    open_step(core)


@compiled
def _spare(core: Core, count: int) -> None:
    spare(core.segments, core.requests, core.path, core.state, core.worth, count)


@compiled
def _admit(core: Core, request: int) -> bool:
    return admit(core, request)


@compiled
def _close(core: Core, admitted: Int64Array) -> None:
    for request in admitted:
        leave(core.segments, core.requests, core.state, core.settings, core.queue, request)
    close_step(core)


class Asked:
    """One replay under a policy that is asked."""

    def __init__(self, core: Core, policy: Policy, observe_hook: HookObserver | None) -> None:
        self._core = core
        self._policy = policy
        self._observe_hook = observe_hook
        self._told = 0  # requests whose arrival the policy has heard of

    def run(self, progress: Callable[[int, int], None] | None) -> None:
        """Run to the end. Raises `InputError` if the policy leaves requests waiting for ever."""
        core, state, requests = self._core, self._core.state, len(self._core.requests)
        while _go_on(core):
            self._tell_of_arrivals()
            self._step()
            if state[at.STEP_TOKENS] == 0:
                if state[at.ARRIVED] == requests:
                    refuse_stall(self._policy, int(state[at.WAITING]))
                state[at.NOW_NS] = core.facts[at.ARRIVAL_NS, state[at.ARRIVED]]
            if progress is not None:
                progress(int(state[at.ARRIVED]), requests)
        if progress is not None:
            progress(requests, requests)

    def _tell_of_arrivals(self) -> None:
        arrived = int(self._core.state[at.ARRIVED])
        if Capability.ON_ARRIVAL in self._policy.capabilities:
            for request in range(self._told, arrived):
                if not self._core.facts[at.REFUSED, request]:
                    tell_of(Capability.ON_ARRIVAL, self._policy, request)
        self._told = arrived

    def _step(self) -> None:
        core, policy = self._core, self._policy
        if core.state[at.WAITING] == 0:
            _open(core)
            admitted: list[int] = []
        else:
            view = self._view()
            if Capability.ON_HOOK in policy.capabilities:
                tell_of_hook(policy, view)
            if self._observe_hook is not None:
                self._observe_hook(int(core.state[at.CALLS]), view, policy)
            if Capability.VICTIM_RANK in policy.capabilities:
                self._spare(view)
            _open(core)
            admitted = self._walk(view)
        _close(core, np.array(admitted, dtype=np.int64))
        if Capability.ON_STEP in policy.capabilities:
            tell_of(Capability.ON_STEP, policy, int(core.state[at.STEP_TOKENS]))

    def _spare(self, view: QueueView) -> None:
        """Spare the hits that the view shows of those whom the policy names."""
        ranked = np.fromiter(checked_victim_rank(self._policy, view), dtype=np.int64)
        if self._core.settings[at.TRACKS_HITS]:
            self._core.worth.wanters[: len(ranked)] = view.request_id[ranked]
            _spare(self._core, len(ranked))

    def _walk(self, view: QueueView) -> list[int]:
        """Admit waiting requests in the policy's order until the budget, the sequences or the room end."""
        core, state, settings = self._core, self._core.state, self._core.settings
        hears = Capability.ON_ADMIT in self._policy.capabilities
        order = checked_order(self._policy, view)
        admitted: list[int] = []
        while state[at.STEP_TOKENS] < settings[at.BUDGET_TOKENS] and state[at.STEP_RUNNING] < settings[at.MAX_NUM_SEQS]:
            position = next(order, None)
            if position is None:
                break
            request = int(view.request_id[position])
            if not _admit(core, request):
                break
            admitted.append(request)
            if hears:
                tell_of(Capability.ON_ADMIT, self._policy, request)
        return admitted

    def _view(self) -> QueueView:
        columns = self._core.queue.columns[:, : self._core.state[at.WAITING]]
        columns.flags.writeable = False
        wants_remaining = Column.REMAINING_NS in self._policy.columns
        return QueueView(
            now_ns=int(self._core.state[at.NOW_NS]),
            arrival_ns=columns[ARRIVAL_NS],
            n_tokens=columns[N_TOKENS],
            hit_tokens=columns[HIT_TOKENS],
            prefill_ns=columns[PREFILL_NS],
            head_id=columns[HEAD_ID],
            request_id=columns[REQUEST_ID],
            remaining_ns=columns[REMAINING_NS] if wants_remaining else None,
        )

"""A queue that lives over several hooks, for policies that remember."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from fairway.policies import QueueView


@dataclass
class Waiting:
    """A waiting request, by the letter: plain numbers."""

    id: int
    arrival_ns: int
    n: int
    head: int
    h: int = 0

    @property
    def c(self):
        return self.n - self.h


def view_of(waiting, now_ns=0):
    def column(value):
        return np.array([value(one) for one in waiting], dtype=np.int64)

    return QueueView(
        now_ns=now_ns,
        arrival_ns=column(lambda one: one.arrival_ns),
        n_tokens=column(lambda one: one.n),
        hit_tokens=column(lambda one: one.h),
        prefill_ns=column(lambda one: 1000 * one.n),
        head_id=column(lambda one: one.head),
        request_id=column(lambda one: one.id),
        remaining_ns=column(lambda one: 1000 * one.c),
    )


@dataclass(frozen=True)
class Hook:
    """What happens at a hook: who has arrived since the last one, whose hit is what, and how many are admitted."""

    arrivals: list  # (n, head)
    hits: list  # sixteenths of the prompt, dealt out to the waiting in turn
    admitted: int
    executed: int


hooks = st.lists(
    st.builds(
        Hook,
        arrivals=st.lists(st.tuples(st.sampled_from([32, 48, 160, 320, 1600]), st.integers(0, 2)), max_size=6),
        hits=st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 8, 15]), min_size=1, max_size=7),
        admitted=st.integers(0, 3),
        executed=st.integers(0, 2048),
    ),
    min_size=1,
    max_size=12,
)


def play(policy, script):
    """Yield, at every hook, the waiting requests and the policy's order as ids; admit the first few of it."""
    waiting, arrived, now_ns = [], 0, 0
    for hook in script:
        now_ns += 1000
        for n, head in hook.arrivals:
            waiting.append(Waiting(arrived, now_ns - 7, n, head if n >= 32 else -1 - arrived))
            arrived += 1
        if not waiting:
            continue
        for index, one in enumerate(waiting):
            one.h = one.n * hook.hits[index % len(hook.hits)] // 256 * 16
        view = view_of(waiting, now_ns)
        policy.on_hook(view)
        order = [waiting[position].id for position in policy.order(view)]
        assert order == [waiting[position].id for position in policy.order(view)], "asking changes nothing"
        admitted = order[: hook.admitted]
        yield list(waiting), order, admitted, hook.executed
        for one in admitted:
            policy.on_admit(one)
        policy.on_step(hook.executed)
        waiting = [one for one in waiting if one.id not in admitted]

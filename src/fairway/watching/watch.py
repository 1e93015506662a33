"""Writes down every step of the readable engine: who waits, in which order, through which lane, who is admitted.

Nothing here decides anything: orders, scores and ledgers are asked of the policy's own rule, at the hook at which the
engine asks for them too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fairway.engine import HookObserver, Limits, PrefillTime, Request, Scheduler, Step
from fairway.policies import ByScore, Policy, QueueView, Release, Rule, RulePolicy, TwoLanes, checked_order

SCORE_DIGITS = 3


@dataclass(frozen=True)
class Queue:
    """The waiting queue at one hook, one value a request: ids and columns by arrival, then the policy's order."""

    waiting: list[int]
    hit_tokens: list[int]
    order: list[int]
    scores: list[float] | None  # of the policy's score, if it has one
    fast_lane: list[int] | None  # None without two lanes
    turns: list[Release] | None  # the merge, turn by turn

    @classmethod
    def of(cls, view: QueueView, policy: Policy) -> Queue:
        """Take a view and what the policy makes of it."""
        ids: list[int] = view.request_id.tolist()
        order = list(checked_order(policy, view))
        rule = policy.rule() if isinstance(policy, RulePolicy) else None
        lanes = rule if isinstance(rule, TwoLanes) else None
        return cls(
            waiting=ids,
            hit_tokens=view.hit_tokens.tolist(),
            order=[ids[position] for position in order],
            scores=_scores(lanes.fast if lanes else rule, view),
            fast_lane=[ids[position] for position in lanes.fast.order(view)] if lanes else None,
            turns=list(lanes.releases(view)) if lanes else None,
        )


EMPTY = Queue([], [], [], None, None, None)


@dataclass(frozen=True)
class Admission:
    """One admitted request: its cached tokens by then, and how many older ones stay behind it in the queue."""

    request: int
    hit_tokens: int
    passed: int


@dataclass(frozen=True)
class WatchedStep:
    """One step that ran, from hook to end."""

    start_ns: int
    end_ns: int
    queue: Queue
    chunks: list[tuple[int, int]]  # request, new tokens
    admitted: list[Admission]


@dataclass
class Watch:
    """What has been seen of one engine since ``start_ns``: steps that end before are left out."""

    start_ns: int
    steps: list[WatchedStep] = field(default_factory=list)


class WatchedScheduler(Scheduler):
    """The readable engine, watched."""

    def __init__(
        self,
        policy: Policy,
        limits: Limits,
        observe_hook: HookObserver | None = None,
        prefill_time: PrefillTime | None = None,
        *,
        watch: Watch,
    ) -> None:
        super().__init__(policy, limits, self._see, prefill_time)
        self._watch = watch
        self._queue = EMPTY
        self._also_observes = observe_hook
        self._admitted: list[Admission] = []

    def schedule(self, now_ns: int) -> Step:
        """Decide a step, and note who passes whom."""
        self._queue = EMPTY
        step = super().schedule(now_ns)
        self._admitted = _admissions(self._queue, step)
        return step

    def complete(self, step: Step, now_ns: int) -> list[Request]:
        """End a step and write it down."""
        if now_ns > self._watch.start_ns:
            chunks = [(chunk.request.request_id, chunk.new_tokens) for chunk in step.chunks]
            self._watch.steps.append(WatchedStep(step.now_ns, now_ns, self._queue, chunks, self._admitted))
        return super().complete(step, now_ns)

    def _see(self, step: int, view: QueueView, policy: Policy) -> None:
        if self._also_observes is not None:
            self._also_observes(step, view, policy)
        self._queue = Queue.of(view, policy)


def _admissions(queue: Queue, step: Step) -> list[Admission]:
    admitted = {request.request_id for request in step.admitted}
    place = {request: position for position, request in enumerate(queue.waiting)}
    behind = [position for position, request in enumerate(queue.waiting) if request not in admitted]
    return [
        Admission(
            request.request_id,
            request.hit_tokens_at_start,
            sum(position < place[request.request_id] for position in behind),
        )
        for request in step.admitted
    ]


def _scores(rule: Rule | None, view: QueueView) -> list[float] | None:
    if not isinstance(rule, ByScore):
        return None
    scores: list[Any] = rule.score.of(view).tolist()
    return [round(score, SCORE_DIGITS) for score in scores]

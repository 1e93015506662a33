"""A trace in virtual time, and the one door to a replay: the compiled core, or an engine under a clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Self

import numpy as np
import numpy.typing as npt

from fairway.core import Prepared, not_covered, run
from fairway.engine import (
    Engine,
    EngineFactory,
    Limits,
    PrefillTime,
    Request,
    Scheduler,
    Step,
    UnservableError,
    refuse_stall,
    refuse_unservable,
)
from fairway.hooks import HookRecorder, Hooks
from fairway.policies import Policy
from fairway.profile import Profile
from fairway.traces import Trace, chains, head_ids

Int64Array = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]  # requests done, requests in all

UNSERVED = -1  # in the time columns of a request that was refused, and where nobody knows


@dataclass(frozen=True, eq=False)
class Prompts:
    """What replays of the same prompts share whatever their arrivals, each made when it is first asked for.

    The core takes ``prepared``, an engine that works on blocks takes the chains and the times.
    """

    trace: Trace
    profile: Profile
    limits: Limits  # of which the size of the cache does not count

    @classmethod
    def of(cls, trace: Trace, profile: Profile, limits: Limits) -> Self:
        """Take a trace's prompts for a device, a block size and a budget."""
        return cls(trace, profile, limits)

    @cached_property
    def prepared(self) -> Prepared:
        """The prompts as a trie, and ``T(n, 0)``. Cost: one comparison for each id of the trace."""
        return Prepared.of(self.trace, self.profile, self.limits)

    @cached_property
    def chains(self) -> list[list[int]]:
        """Block chains. Cost: the number of blocks, in Python."""
        return chains(self.trace, self.limits.block_tokens)

    @cached_property
    def head_ids(self) -> Int64Array:
        """An id of each prompt's first 32 tokens."""
        return head_ids(self.trace)

    @cached_property
    def prefill_ns(self) -> list[int]:
        """``T(n, 0)`` of each prompt."""
        lengths = self.trace.prompt_tokens.tolist()
        known = {n: self.profile.prefill_ns(n, 0, self.limits.budget_tokens) for n in sorted(set(lengths))}
        return [known[n] for n in lengths]


@dataclass(frozen=True, eq=False)
class Replay:
    """What happened to each request (arrays over the trace's requests), and to the engine."""

    start_ns: Int64Array  # begin of the step that first computed something; UNSERVED if refused
    first_token_ns: Int64Array
    finish_ns: Int64Array
    hit_tokens: Int64Array  # at the start
    preemptions: Int64Array
    refused: npt.NDArray[np.bool_]
    refusals: tuple[str, ...]  # one message a refused request
    steps: int
    busy_ns: int
    end_ns: int
    evicted_blocks: int
    computed_tokens: int
    extrapolated_tokens: int
    hooks: Hooks | None  # None unless they were to be recorded


def replay(
    trace: Trace,
    policy: Policy,
    profile: Profile,
    limits: Limits,
    *,
    engine: EngineFactory | None = None,
    prompts: Prompts | None = None,
    record_hooks: bool = False,
    progress: Progress | None = None,
) -> Replay:
    """Run ``trace`` under ``policy``: through the core where it covers this, else through the readable engine.

    An ``engine`` that is given runs it instead. A request that arrives at the instant at which a step ends takes part
    in the next step's order. A request that can never fit is refused on arrival and counted; the run goes on. Raises
    `InputError` if the policy leaves requests waiting for ever.
    """
    prompts = prompts or Prompts.of(trace, profile, limits)
    if engine is None and not_covered(trace, policy, limits) is None:
        return _through_core(trace, policy, limits, prompts, record_hooks=record_hooks, progress=progress)
    recorder = HookRecorder() if record_hooks else None
    clock = _Clock((engine or Scheduler)(policy, limits, recorder, _prefill_time(profile, limits)), profile)
    requests = _requests(trace, prompts)
    clock.run(requests, progress)
    return _result(requests, clock, recorder.hooks() if recorder else None)


def _through_core(
    trace: Trace,
    policy: Policy,
    limits: Limits,
    prompts: Prompts,
    *,
    record_hooks: bool,
    progress: Progress | None,
) -> Replay:
    result = run(
        prompts.prepared,
        trace.arrival_ns,
        lambda: prompts.head_ids,
        policy,
        limits,
        record_hooks=record_hooks,
        progress=progress,
    )
    return Replay(
        start_ns=result.start_ns,
        first_token_ns=result.first_token_ns,
        finish_ns=result.first_token_ns,
        hit_tokens=result.hit_tokens,
        preemptions=np.zeros(len(trace), dtype=np.int64),
        refused=result.refused,
        refusals=tuple(_refusal(trace, request, limits) for request in np.flatnonzero(result.refused).tolist()),
        steps=result.steps,
        busy_ns=result.busy_ns,
        end_ns=result.end_ns,
        evicted_blocks=result.evicted_blocks,
        computed_tokens=result.computed_tokens,
        extrapolated_tokens=result.extrapolated_tokens,
        hooks=result.hooks,
    )


def _refusal(trace: Trace, request: int, limits: Limits) -> str:
    """Return the words in which an engine refuses a request."""
    try:
        refuse_unservable(
            Request(
                request,
                int(trace.arrival_ns[request]),
                int(trace.prompt_tokens[request]),
                int(trace.output_tokens[request]),
                [],
            ),
            limits,
        )
    except UnservableError as error:
        return str(error)
    raise AssertionError(f"request {request} fits")


class _Clock:
    """Virtual time of one engine: arrivals, steps, and what they add up to."""

    def __init__(self, engine: Engine, profile: Profile) -> None:
        self.now_ns = 0
        self.refusals: dict[int, str] = {}
        self.steps = self.busy_ns = self.evicted_blocks = self.computed_tokens = self.extrapolated_tokens = 0
        self._engine = engine
        self._profile = profile

    def run(self, requests: list[Request], progress: Progress | None) -> None:
        arrived = 0
        while arrived < len(requests) or self._engine.has_work:
            while arrived < len(requests) and requests[arrived].arrival_ns <= self.now_ns:
                self._submit(requests[arrived])
                arrived += 1
            step = self._engine.schedule(self.now_ns) if self._engine.has_work else None
            if step is not None and (step.chunks or step.preempted):
                self._finish(step)
            elif arrived < len(requests):
                self.now_ns = requests[arrived].arrival_ns
            elif self._engine.has_work:  # an engine may drop aborted requests by itself
                refuse_stall(self._engine.policy, len(self._engine.waiting))
            if progress is not None:
                progress(arrived - len(self._engine.waiting), len(requests))

    def _submit(self, request: Request) -> None:
        try:
            self._engine.submit(request)
        except UnservableError as error:
            self.refusals[request.request_id] = str(error)

    def _finish(self, step: Step) -> None:
        chunks = [(chunk.new_tokens, chunk.context_tokens) for chunk in step.chunks]
        duration_ns = self._profile.step_ns(chunks)
        self.now_ns += duration_ns
        self.busy_ns += duration_ns
        self.steps += 1
        self.evicted_blocks += len(step.evicted)
        self.computed_tokens += step.new_tokens
        self.extrapolated_tokens += self._profile.extrapolated_tokens(chunks)
        self._engine.complete(step, self.now_ns)


def _prefill_time(profile: Profile, limits: Limits) -> PrefillTime:
    """Return ``T(n, h)``, which remembers its answers: hits of one request move, and come back, by whole blocks."""
    return cache(partial(profile.prefill_ns, budget_tokens=limits.budget_tokens))


def _requests(trace: Trace, prompts: Prompts) -> list[Request]:
    columns = (trace.arrival_ns, trace.prompt_tokens, trace.output_tokens, prompts.head_ids)
    rows = zip(*(column.tolist() for column in columns), prompts.chains, prompts.prefill_ns, strict=True)
    return [
        Request(index, arrival_ns, prompt, output, list(chain), prefill_ns, head_id)
        for index, (arrival_ns, prompt, output, head_id, chain, prefill_ns) in enumerate(rows)
    ]


def _result(requests: list[Request], clock: _Clock, hooks: Hooks | None) -> Replay:
    def column(value: Callable[[Request], int | None]) -> Int64Array:
        values = (value(request) for request in requests)
        return np.array([UNSERVED if found is None else found for found in values], dtype=np.int64)

    return Replay(
        start_ns=column(lambda request: request.start_ns),
        first_token_ns=column(lambda request: request.first_token_ns),
        finish_ns=column(lambda request: request.finish_ns),
        hit_tokens=column(lambda request: request.hit_tokens_at_start),
        preemptions=column(lambda request: request.preemptions),
        refused=np.array([request.request_id in clock.refusals for request in requests], dtype=np.bool_),
        refusals=tuple(clock.refusals.values()),
        steps=clock.steps,
        busy_ns=clock.busy_ns,
        end_ns=clock.now_ns,
        evicted_blocks=clock.evicted_blocks,
        computed_tokens=clock.computed_tokens,
        extrapolated_tokens=clock.extrapolated_tokens,
        hooks=hooks,
    )

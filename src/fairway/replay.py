"""A trace through one engine in virtual time: the clock, and the one door to a replay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Self

import numpy as np
import numpy.typing as npt

from fairway.engine import (
    Engine,
    EngineFactory,
    HookObserver,
    Limits,
    PrefillTime,
    Request,
    Scheduler,
    Step,
    UnservableError,
)
from fairway.errors import InputError
from fairway.policies import Policy
from fairway.profile import Profile
from fairway.traces import Trace, chains, head_ids

Int64Array = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]  # requests done, requests in all

UNSERVED = -1  # in the time columns of a request that was refused


@dataclass(frozen=True, eq=False)
class Prompts:
    """What replays of the same prompts share whatever their arrivals: block chains, heads and ``T(n, 0)``."""

    chains: list[list[int]]
    head_ids: Int64Array
    prefill_ns: list[int]

    @classmethod
    def of(cls, trace: Trace, profile: Profile, limits: Limits) -> Self:
        """Prepare a trace's prompts for a device and a block size. Cost: the number of blocks."""
        lengths = trace.prompt_tokens.tolist()
        prefill_ns = {n: profile.prefill_ns(n, 0, limits.budget_tokens) for n in sorted(set(lengths))}
        return cls(chains(trace, limits.block_tokens), head_ids(trace), [prefill_ns[n] for n in lengths])


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


def replay(
    trace: Trace,
    policy: Policy,
    profile: Profile,
    limits: Limits,
    *,
    engine: EngineFactory = Scheduler,
    prompts: Prompts | None = None,
    observe_hook: HookObserver | None = None,
    progress: Progress | None = None,
) -> Replay:
    """Run ``trace`` under ``policy`` on an engine, by default the readable one.

    A request that arrives at the instant at which a step ends takes part in the next step's order. A request that can
    never fit is refused on arrival and counted; the run goes on. Raises `InputError` if the policy leaves requests
    waiting for ever.
    """
    clock = _Clock(engine(policy, limits, observe_hook, _prefill_time(profile, limits)), profile)
    requests = _requests(trace, prompts or Prompts.of(trace, profile, limits))
    clock.run(requests, progress)
    return _result(requests, clock)


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
                self._refuse_stall()
            if progress is not None:
                progress(arrived, len(requests))

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

    def _refuse_stall(self) -> None:
        raise InputError(
            f"policy {self._engine.policy.name!r} leaves {len(self._engine.waiting)} requests waiting for ever: "
            "nothing runs, nothing more arrives, and its order is empty",
            remedy="let its order name every waiting request when nothing else can run",
        )


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


def _result(requests: list[Request], clock: _Clock) -> Replay:
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
    )

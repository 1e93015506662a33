"""One case through both engines under one clock, compared at every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import zip_longest
from typing import Any, Self

from fairway.engine import Engine, HookObserver, Limits, PrefillTime, Request, Scheduler, Step, UnservableError
from fairway.errors import InputError
from fairway.parity.case import Case
from fairway.policies import Policy, QueueView, make_policy
from fairway.profile import Profile, load_profile
from fairway.replay import Prompts, replay
from fairway.traces.mooncake import trace_lines
from fairway.vllm.engine import VllmEngine

UNHOOKED = "fcfs, vLLM without the hook"
FAILED = "one of the engines failed"
_STEP_TIMES = "a6000-llama-3.1-8b-modelled"  # any would do: they only decide who arrives before which step


@dataclass
class Counts:
    """What a comparison met."""

    cases: int = 0
    requests: int = 0
    refused: int = 0
    steps: int = 0
    admissions: int = 0
    hits: int = 0  # admissions with a cached prefix
    preemptions: int = 0
    evictions: int = 0  # blocks whose content was forgotten
    aborts_waiting: int = 0
    aborts_running: int = 0
    looked_up_hits: int = 0  # waiting requests whose hit at the hook was held against vLLM's own lookup
    longest_queue: int = 0

    def add(self, other: Self) -> None:
        """Add what another comparison met."""
        longest = max(self.longest_queue, other.longest_queue)
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)
        self.longest_queue = longest


class Difference(Exception):  # noqa: N818  not an error of the program: it is what is looked for
    """The first thing in which the engines differ, and the request that it is about, if it is about one."""

    def __init__(self, step: int, what: str, readable: Any, vllm: Any, request: int | None = None) -> None:
        self.step = step
        self.what = what
        self.readable = readable
        self.vllm = vllm
        self.request = request
        self.line = ""  # the request's one in the trace
        super().__init__(step, what)

    def __str__(self) -> str:
        sides = f"step {self.step}: {self.what}\n  readable engine: {self.readable}\n  vLLM:            {self.vllm}"
        return sides if self.request is None else f"{sides}\n  trace line {self.request + 1}: {self.line}"


@dataclass(frozen=True)
class Comparison:
    """Counts up to the end, or up to the first difference."""

    counts: Counts
    difference: Difference | None


def compare(case: Case, policy: str) -> Comparison:
    """Run ``case`` under a policy, or `UNHOOKED`, through both engines until they differ in anything."""
    counts = Counts(cases=1, requests=len(case.arrivals))
    aborts = case.aborts_ns()
    name = policy if policy != UNHOOKED else "fcfs"

    def pair(first: Policy, limits: Limits, observe_hook: HookObserver | None, prefill_time: PrefillTime) -> Engine:
        return _Pair(first, make_policy(name), limits, prefill_time, aborts, counts, hooked=policy != UNHOOKED)

    trace = case.trace()
    try:
        replay(
            trace,
            make_policy(name),
            _profile(),
            case.limits,
            engine=pair,
            prompts=Prompts.of(trace, _profile(), case.limits),
        )
    except Difference as difference:
        if difference.request is not None:
            difference.line = list(trace_lines(trace))[difference.request].rstrip()
        return Comparison(counts, difference)
    except InputError:  # a name or a size that is none: not the engines' doing
        raise
    except Exception as error:  # whatever an engine that breaks raises, it is where the two differ
        failure = f"{type(error).__name__}: {error}"
        return Comparison(counts, Difference(counts.steps, FAILED, failure, "see the left side"))
    return Comparison(counts, None)


@cache
def _profile() -> Profile:
    return load_profile(_STEP_TIMES)


@dataclass
class _Seen:
    """Keeps the columns of the last hook."""

    columns: list[tuple[int, int]] = field(default_factory=list)  # (tokens, hit tokens) of each waiting request

    def __call__(self, step: int, view: QueueView, policy: Policy) -> None:
        self.columns = list(zip(view.n_tokens.tolist(), view.hit_tokens.tolist(), strict=True))


class _Pair:
    """Two engines behind one front: each call goes to both, and what they answer must be the same."""

    def __init__(
        self,
        policy: Policy,
        same_policy: Policy,
        limits: Limits,
        prefill_time: PrefillTime,
        aborts_ns: Sequence[tuple[int, int]],
        counts: Counts,
        *,
        hooked: bool,
    ) -> None:
        self._seen, self._vllm_seen = _Seen(), _Seen()
        self._readable = Scheduler(policy, limits, self._seen, prefill_time)
        self._vllm = VllmEngine(same_policy, limits, self._vllm_seen, prefill_time, hooked=hooked)
        self._hooked = hooked
        self._aborts = list(aborts_ns)
        self._submitted: set[int] = set()
        self._counts = counts
        self._live: dict[int, tuple[Request, Request]] = {}
        self._steps = 0

    @property
    def policy(self) -> Policy:
        return self._readable.policy

    @property
    def waiting(self) -> Any:
        return self._readable.waiting

    @property
    def has_work(self) -> bool:
        self._same("whether there is work", self._readable.has_work, self._vllm.has_work)
        return self._readable.has_work

    def submit(self, request: Request) -> None:
        self._submitted.add(request.request_id)
        twin = replace(request, chain=list(request.chain))
        refusals = _refusal(self._readable, request), _refusal(self._vllm, twin)
        self._same("refusal", *refusals, request.request_id)
        if refusals[0] is not None:
            self._counts.refused += 1
            raise UnservableError(refusals[0])
        self._live[request.request_id] = request, twin

    def abort(self, request: Request) -> None:
        running = request in self._readable.running
        self._counts.aborts_running += running
        self._counts.aborts_waiting += not running
        one, twin = self._live.pop(request.request_id)
        self._readable.abort(one)
        self._vllm.abort(twin)
        self._compare_state(f"after the abort of request {request.request_id}")

    def schedule(self, now_ns: int) -> Step:
        self._abort_until(now_ns)
        looked_up = self._vllm.looked_up_hits()
        waiting = _ids(self._readable.waiting.requests)
        step, vllm_step = self._readable.schedule(now_ns), self._vllm.schedule(now_ns)
        self._steps += 1
        self._count(step, len(looked_up))
        if looked_up:
            self._same_requests("waiting (tokens, hit) at the hook", self._seen.columns, looked_up, waiting)
        if looked_up and self._hooked:
            self._same_requests("the hook's columns", self._seen.columns, self._vllm_seen.columns, waiting)
        if self._vllm.hits is not None:
            self._same("whether hits are those of the index", True, self._vllm.hits.is_indexed)
        self._same_requests("preempted", _ids(step.preempted), _ids(vllm_step.preempted))
        self._same_requests("admitted (request, hit tokens)", _admitted(step), _admitted(vllm_step))
        self._same_requests("scheduled (request, new tokens, context)", _chunks(step), _chunks(vllm_step))
        self._same("evicted hashes", step.evicted, vllm_step.evicted)
        self._compare_state("after scheduling")
        self._vllm_step = vllm_step
        return step

    def complete(self, step: Step, now_ns: int) -> list[Request]:
        # vLLM's loop takes up the aborts that came during a step at its end, before the step's results.
        self._abort_until(now_ns)
        finished = self._readable.complete(step, now_ns)
        self._same_requests("finished", _ids(finished), _ids(self._vllm.complete(self._vllm_step, now_ns)))
        for request in finished:
            one, twin = self._live.pop(request.request_id)
            what = f"what happened to request {request.request_id}"
            self._same(what, _fate(one), _fate(twin), request.request_id)
        self._compare_state("after the step's results")
        return finished

    def _abort_until(self, now_ns: int) -> None:
        due = [request_id for instant_ns, request_id in self._aborts if instant_ns <= now_ns]
        for request_id in due:
            if request_id in self._live:
                self.abort(self._live[request_id][0])
        # One that is due but has not been submitted yet, since its arrival lies in this step too, comes with the next.
        self._aborts = [abort for abort in self._aborts if abort[0] > now_ns or abort[1] not in self._submitted]

    def _compare_state(self, when: str) -> None:
        self._same_requests(f"running {when}", _ids(self._readable.running), self._vllm.running_ids())
        self._same(f"free list {when}", self._readable.pool.free_list(), self._vllm.free_list())

    def _same(self, what: str, readable: Any, vllm: Any, request: int | None = None) -> None:
        if readable != vllm:
            raise Difference(self._steps, what, readable, vllm, request)

    def _same_requests(
        self, what: str, readable: Sequence[Any], vllm: Sequence[Any], requests: Sequence[int] | None = None
    ) -> None:
        """Compare lists of requests: by their ids, by tuples that begin with them, or in the order of ``requests``."""
        if readable != vllm:
            self._same(what, readable, vllm, _first_differing(readable, vllm, requests))

    def _count(self, step: Step, waiting: int) -> None:
        counts = self._counts
        counts.steps += 1
        counts.admissions += len(step.admitted)
        counts.hits += sum(hit_tokens > 0 for _, hit_tokens in _admitted(step))
        counts.preemptions += len(step.preempted)
        counts.evictions += len(step.evicted)
        counts.looked_up_hits += waiting
        counts.longest_queue = max(counts.longest_queue, waiting)


def _first_differing(readable: Sequence[Any], vllm: Sequence[Any], requests: Sequence[int] | None) -> int | None:
    """Return the request that the first differing entry is about; None where the lists are longer than ``requests``."""
    pairs = list(zip_longest(readable, vllm))
    place = next(place for place, (one, other) in enumerate(pairs) if one != other)
    if requests is not None:
        return requests[place] if place < len(requests) else None
    entry = next(entry for entry in pairs[place] if entry is not None)
    return int(entry[0] if isinstance(entry, tuple) else entry)


def _fate(request: Request) -> dict[str, int | None]:
    """What rows say of a request: its times, its hit, how often it was preempted, how much came out."""
    return {
        "start_ns": request.start_ns,
        "first_token_ns": request.first_token_ns,
        "finish_ns": request.finish_ns,
        "hit_tokens_at_start": request.hit_tokens_at_start,
        "preemptions": request.preemptions,
        "emitted_tokens": request.emitted_tokens,
    }


def _refusal(engine: Engine, request: Request) -> str | None:
    try:
        engine.submit(request)
    except UnservableError as error:
        return str(error)
    return None


def _ids(requests: Sequence[Request]) -> list[int]:
    return [request.request_id for request in requests]


def _chunks(step: Step) -> list[tuple[int, int, int]]:
    return [(chunk.request.request_id, chunk.new_tokens, chunk.context_tokens) for chunk in step.chunks]


def _admitted(step: Step) -> list[tuple[int, int]]:
    """Hits are what vLLM or the readable engine began with: the first chunk's context without its new tokens."""
    begun = {chunk.request.request_id: chunk.context_tokens - chunk.new_tokens for chunk in step.chunks}
    return [(request.request_id, begun[request.request_id]) for request in step.admitted]

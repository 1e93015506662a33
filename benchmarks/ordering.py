"""Measure what ordering with exact hits costs a step of vLLM's own scheduler, against walking every prompt anew.

Long prompts over shared documents wait, as many after each step as before it. Who comes and goes costs more than how
many wait, and how many a step admits follows from the tokens that are a prompt's own. With 1,024 of them a step of
2,048 admits one or two; the workloads of this project admit 0.7 to 4 on average while 20 or more wait, those of long
prompts below 1. With 320 it admits six, more than any of them. Two of vLLM's schedulers take the same steps: one with
the plugin, as a server has it; the other as it ships, its queue laid out beforehand as the policy had it. So the
difference between their times is all that ordering adds, the cache's log included. Runs with vLLM's Python
(`make vllm-env`); times are those of this machine.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.clock import python_loop_ms
from fairway.command import not_negative, positive, run
from fairway.engine import Limits, Request, Step
from fairway.files import write_json
from fairway.ordering_time import machine
from fairway.policies import make_policy
from fairway.vllm import load_engine

load_engine()  # says so if vLLM is missing, before the next lines need it

from fairway.vllm.build import build_scheduler  # noqa: E402
from fairway.vllm.engine import VllmEngine  # noqa: E402
from fairway.vllm.hashes import BlockHashes  # noqa: E402
from fairway.vllm.plugin import clock  # noqa: E402
from fairway.vllm.plugin.schedulers import OrderedByPolicy  # noqa: E402
from fairway.vllm.scheduler import LoggedScheduler  # noqa: E402
from fairway.vllm.versions import installed_version  # noqa: E402

LIMITS = Limits(cache_blocks=12_000)
DOCUMENTS = 18  # of which the cache holds all but a few
PROMPT_BLOCKS = 640  # so 10,240 tokens
PREFILL_NS_PER_TOKEN = 130_000
STEP_NS = 270_000_000
WARM_UP_STEPS = 60
clock_ns = time.perf_counter_ns


@dataclass(frozen=True)
class Cost:
    """Times of a step, medians over steps; those of the 90th percentile beside them."""

    policy: str
    waiting: int
    new_tokens: int  # of each prompt, behind its document
    steps: int
    order_us: float  # what the plugin does before and after a step, index and queue included, and drawing the order
    order_p90_us: float
    added_us: float  # what a whole step takes longer than vLLM's own
    added_p90_us: float
    schedule_us: float  # vLLM's own step
    walk_us: float  # looking every waiting request's hit up as vLLM does
    walk_per_order: float
    admitted: float  # requests a step
    changed_blocks: float  # stored or evicted in a step


class SharedTokens(BlockHashes):
    """Hashes as ever; all prompts of one length share one list of token ids, which only their hashes stand for."""

    def prompt_token_ids(self, request: Request) -> list[int]:
        """Return a list of that length."""
        return self._tokens[: request.prompt_tokens]

    _tokens = [0] * (PROMPT_BLOCKS * LIMITS.block_tokens)


class TimedEngine(VllmEngine):
    """vLLM's scheduler as it ships; adds up the time of its steps."""

    def __init__(self) -> None:
        super().__init__(make_policy("fcfs"), LIMITS, hooked=False)
        self._hashes = SharedTokens(LIMITS.block_tokens)
        self.step_ns = 0
        self._schedule = self.scheduler.schedule
        self.scheduler.schedule = self._timed_schedule

    def _timed_schedule(self) -> Any:
        begun_ns = clock_ns()
        output = self._schedule()
        self.step_ns += clock_ns() - begun_ns
        return output

    def lay_out(self, tried: list[str]) -> None:
        """Put these requests at the head of vLLM's own queue."""
        first = [self.scheduler.requests[key] for key in tried]
        self.scheduler.waiting.remove_requests(first)
        self.scheduler.waiting.prepend_requests(reversed(first))


class LoggedPlugin(OrderedByPolicy, LoggedScheduler):
    """The plugin, on the scheduler that says what its cache stored and evicted."""


class PluginEngine(TimedEngine):
    """The plugin; adds up what it does before, in and after a step, and writes down whom vLLM was given to try."""

    def __init__(self, policy: str) -> None:
        self._policy_name = policy
        super().__init__()
        self.order_ns = 0
        self.tried: list[str] = []
        self.ordering = self.scheduler.ordering
        self.ordering.before_step = self._timed(self.ordering.before_step)
        self.ordering.after_step = self._timed(self.ordering.after_step)
        queue = self.scheduler.waiting
        begin_walk = queue.begin_walk
        queue.begin_walk = lambda order: begin_walk(self._timed_draws(order))

    def _new_scheduler(self, hooked: bool) -> LoggedScheduler:
        return build_scheduler(LoggedPlugin, LIMITS, {"fairway": {"policy": self._policy_name}})

    def schedule(self, now_ns: int) -> Step:
        """Let the plugin see the virtual time, of which requests have their arrivals."""
        self.tried = []
        with mock.patch.object(clock, "time_ns", lambda: now_ns):
            return super().schedule(now_ns)

    def _timed(self, function: Callable[..., None]) -> Callable[..., None]:
        def timed(*arguments: Any) -> None:
            begun_ns = clock_ns()
            function(*arguments)
            self.order_ns += clock_ns() - begun_ns

        return timed

    def _timed_draws(self, order: Iterator[Any]) -> Iterator[Any]:
        while True:
            begun_ns = clock_ns()
            request = next(order, None)
            self.order_ns += clock_ns() - begun_ns
            if request is None:
                return
            self.tried.append(request.request_id)
            yield request


class Pair:
    """The two schedulers, and the requests that both are given."""

    def __init__(self, policy: str, waiting: int, new_tokens: int, seed: int) -> None:
        self.ordered = PluginEngine(policy)
        self.plain = TimedEngine()
        self.prompts = Prompts(new_tokens // LIMITS.block_tokens, seed)
        self.now_ns = 0
        for _ in range(waiting):
            self._submit()

    def step(self) -> tuple[Step, int]:
        """Take one step with both; return it, and how many blocks changed. As many wait afterwards as before."""
        cached_before = len(self.ordered.scheduler.cache_log)
        step = self.ordered.schedule(self.now_ns)
        evicted = len(self.ordered.scheduler.cache_log.evicted)
        stored = len(self.ordered.scheduler.cache_log) - cached_before + evicted
        self.plain.lay_out(self.ordered.tried)
        same = self.plain.schedule(self.now_ns)
        assert [(one.request.request_id, one.new_tokens) for one in step.chunks] == [
            (one.request.request_id, one.new_tokens) for one in same.chunks
        ], "both schedulers take the same step"
        self.now_ns += STEP_NS
        self.ordered.complete(step, self.now_ns)
        self.plain.complete(same, self.now_ns)
        for _ in step.admitted:
            self._submit()
        return step, stored + evicted

    def walk_ns(self) -> int:
        """Return the time to look every waiting request's hit up, as vLLM does when it tries one."""
        requests, look_up = self.ordered.scheduler.requests, self.ordered.scheduler.kv_cache_manager.get_computed_blocks
        waiting = [requests[str(one.request_id)] for one in self.ordered.waiting.requests]
        begun_ns = clock_ns()
        for request in waiting:
            look_up(request)
        return clock_ns() - begun_ns

    def _submit(self) -> None:
        for engine, request in zip((self.ordered, self.plain), self.prompts.next(self.now_ns), strict=True):
            engine.submit(request)


class Prompts:
    """Questions of so many blocks behind documents, some of which are asked about more often than others."""

    def __init__(self, question_blocks: int, seed: int) -> None:
        self._question_blocks, self._document_blocks = question_blocks, PROMPT_BLOCKS - question_blocks
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._asked = 0

    def next(self, now_ns: int) -> tuple[Request, Request]:
        """Return the same new request twice."""
        document = int(DOCUMENTS * self._rng.random() ** 2)
        number = self._asked
        self._asked += 1
        shared, own = self._document_blocks, DOCUMENTS * PROMPT_BLOCKS + number * self._question_blocks
        chain = [*range(document * shared, (document + 1) * shared), *range(own, own + self._question_blocks)]
        tokens = len(chain) * LIMITS.block_tokens
        one, other = (
            Request(number, now_ns, tokens, 1, list(chain), prefill_ns(tokens, 0), document) for _ in range(2)
        )
        return one, other


def prefill_ns(n_tokens: int, hit_tokens: int) -> int:
    return PREFILL_NS_PER_TOKEN * (n_tokens - hit_tokens)


def measure(policy: str, waiting: int, new_tokens: int, steps: int, walks: int, seed: int) -> Cost:
    """Take steps in pairs and time both sides of each."""
    pair = Pair(policy, waiting, new_tokens, seed)
    for _ in range(WARM_UP_STEPS):
        pair.step()
    with _frozen():
        return _measured(pair, policy, waiting, new_tokens, steps, walks)


@contextmanager
def _frozen() -> Iterator[None]:
    """Keep what there is out of the garbage collector's sight, as vLLM's server does once it is up.

    Until the end only: what stays frozen is never given back, and each pair of schedulers takes gigabytes.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _measured(pair: Pair, policy: str, waiting: int, new_tokens: int, steps: int, walks: int) -> Cost:
    order_us, added_us, plain_us, admitted, changed = [], [], [], [], []
    for _ in range(steps):
        before_ns = pair.ordered.order_ns, pair.ordered.step_ns, pair.plain.step_ns
        step, changed_blocks = pair.step()
        after_ns = pair.ordered.order_ns, pair.ordered.step_ns, pair.plain.step_ns
        order_ns, step_ns, own_ns = (after - before for after, before in zip(after_ns, before_ns, strict=True))
        order_us.append(order_ns / 1000)
        added_us.append((step_ns - own_ns) / 1000)
        plain_us.append(own_ns / 1000)
        admitted.append(len(step.admitted))
        changed.append(changed_blocks)
    assert pair.ordered.ordering.hits_are_indexed, "the index served to the end"
    assert not pair.ordered.ordering.counts.fallbacks, "the policy's order served to the end"
    walk_us = statistics.median(pair.walk_ns() / 1000 for _ in range(walks))
    return Cost(
        policy,
        waiting,
        new_tokens,
        steps,
        *(round(figure, 1) for times in (order_us, added_us) for figure in (statistics.median(times), p90(times))),
        schedule_us=round(statistics.median(plain_us), 1),
        walk_us=round(walk_us, 1),
        walk_per_order=round(walk_us / statistics.median(order_us)),
        admitted=round(statistics.mean(admitted), 1),
        changed_blocks=round(statistics.mean(changed), 1),
    )


def p90(times: list[float]) -> float:
    return sorted(times)[-(-9 * len(times) // 10) - 1]


def _new_tokens(text: str) -> int:
    tokens = positive(text)
    if tokens % LIMITS.block_tokens or tokens >= PROMPT_BLOCKS * LIMITS.block_tokens:
        raise argparse.ArgumentTypeError(
            f"{tokens} is no multiple of {LIMITS.block_tokens} below {PROMPT_BLOCKS * LIMITS.block_tokens}"
        )
    return tokens


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--policies", nargs="+", default=["fairway", "lpm"], help="policies (default: fairway lpm)")
    parser.add_argument(
        "--waiting", nargs="+", type=positive, default=[100, 128, 1024, 4096, 5000, 10_000], help="queue lengths"
    )
    parser.add_argument(
        "--new-tokens",
        nargs="+",
        type=_new_tokens,
        default=[1024, 320],
        help=f"of each prompt, multiples of {LIMITS.block_tokens} (default: 1024 320)",
    )
    parser.add_argument("--steps", type=positive, default=300, help="steps to take the median of (default 300)")
    parser.add_argument("--walks", type=positive, default=3, help="walks to take the median of (default 3)")
    parser.add_argument("--seed", type=not_negative, default=1, help="seed of the prompts (default 1)")
    parser.add_argument("--out", type=Path, help="JSON file to write besides printing")
    arguments = parser.parse_args()
    loop_before_ms = python_loop_ms()
    print(f"a million loops of Python in {loop_before_ms:g} ms")
    costs = []
    print("   policy waiting  admitted  order us     p90  added us     p90    walk us   ratio")
    for new_tokens, waiting, policy in product(arguments.new_tokens, arguments.waiting, arguments.policies):
        cost = measure(policy, waiting, new_tokens, arguments.steps, arguments.walks, arguments.seed)
        costs.append(cost)
        print(
            f"{policy:>9} {waiting:>7,} {cost.admitted:>9.1f} {cost.order_us:>9.1f} {cost.order_p90_us:>7.1f} "
            f"{cost.added_us:>9.1f} {cost.added_p90_us:>7.1f} {cost.walk_us:>10,.0f} {cost.walk_per_order:>7,}",
            flush=True,
        )
    if arguments.out:
        date = time.strftime("%Y-%m-%d", time.gmtime())
        write_json(
            arguments.out,
            {
                "date": date,
                "vllm": installed_version(),
                **machine(),
                "python_loop_ms": [loop_before_ms, python_loop_ms()],
                "costs": [asdict(cost) for cost in costs],
            },
        )
    return 0


if __name__ == "__main__":
    run(main)

"""Measure what ordering with exact hits costs a step of vLLM's own scheduler, against walking every prompt anew.

Long prompts over shared documents wait, as many after each step as before it. Who comes and goes costs more than how
many wait, and how many a step admits follows from the tokens that are a prompt's own. With 1,024 of them a step of
2,048 admits one or two; the workloads of this project admit 0.7 to 4 on average while 20 or more wait, those of long
prompts below 1. With 320 it admits six, more than any of them. Two of vLLM's schedulers take the same steps in
turns of twenty, each alone meanwhile as in a server: one with the plugin; the other as it ships, its queue laid out
beforehand as the policy had it. So the difference between their times is all that ordering adds, the cache's log
included. Runs with vLLM's Python (`make vllm-env`); times are those of this machine.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
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
STEPS_A_TURN = 20
COUNTED = 16  # of these; in the first ones a scheduler finds the processor's caches full of the other's
WARM_UP_TURNS = 3
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
        self.tried: list[str] = []  # in the latest step
        self.changed_blocks = 0  # stored or evicted in it
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
        cached_before = len(self.scheduler.cache_log)
        with mock.patch.object(clock, "time_ns", lambda: now_ns):
            step = super().schedule(now_ns)
        evicted = len(self.scheduler.cache_log.evicted)
        self.changed_blocks = len(self.scheduler.cache_log) - cached_before + 2 * evicted
        return step

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


class Queue:
    """One scheduler, in which as many requests wait after a step as before."""

    def __init__(self, engine: TimedEngine, waiting: int, new_tokens: int, seed: int) -> None:
        self.engine = engine
        self._prompts = Prompts(new_tokens // LIMITS.block_tokens, seed)
        self._now_ns = 0
        for _ in range(waiting):
            self._submit()

    def step(self) -> Step:
        """Take a step, and let as many requests come as it admits."""
        step = self.engine.schedule(self._now_ns)
        self._now_ns += STEP_NS
        self.engine.complete(step, self._now_ns)
        for _ in step.admitted:
            self._submit()
        return step

    def walk_ns(self) -> int:
        """Return the time to look every waiting request's hit up, as vLLM does when it tries one."""
        requests, look_up = self.engine.scheduler.requests, self.engine.scheduler.kv_cache_manager.get_computed_blocks
        waiting = [requests[str(one.request_id)] for one in self.engine.waiting.requests]
        begun_ns = clock_ns()
        for request in waiting:
            look_up(request)
        return clock_ns() - begun_ns

    def _submit(self) -> None:
        self.engine.submit(self._prompts.next(self._now_ns))


@dataclass(frozen=True)
class Timed:
    """One step, with both schedulers."""

    order_us: float
    ordered_us: float  # the whole step with the plugin
    plain_us: float
    admitted: int
    changed_blocks: int

    @property
    def added_us(self) -> float:
        """What ordering adds to the step."""
        return self.ordered_us - self.plain_us


class Pair:
    """The two schedulers, which take the same steps."""

    def __init__(self, policy: str, waiting: int, new_tokens: int, seed: int) -> None:
        self._plugin, self._plain = PluginEngine(policy), TimedEngine()
        self.ordered, self._as_it_ships = (
            Queue(engine, waiting, new_tokens, seed) for engine in (self._plugin, self._plain)
        )

    def turn(self) -> list[Timed]:
        """Take some steps with the plugin, then the same ones without."""
        taken = [self._ordered_step() for _ in range(STEPS_A_TURN)]
        return [replace(timed, plain_us=self._plain_us(tried, tokens)) for timed, tried, tokens in taken]

    def check(self) -> None:
        """Make sure that what was timed is the ordering, and nothing that stood in for it."""
        ordering = self._plugin.ordering
        assert ordering.hits_are_indexed, "the index served to the end"
        assert not ordering.counts.fallbacks, "the policy's order served to the end"

    def _ordered_step(self) -> tuple[Timed, list[str], list[tuple[int, int]]]:
        plugin = self._plugin
        order_ns, step_ns = plugin.order_ns, plugin.step_ns
        step = self.ordered.step()
        order_us, step_us = (plugin.order_ns - order_ns) / 1000, (plugin.step_ns - step_ns) / 1000
        return Timed(order_us, step_us, 0, len(step.admitted), plugin.changed_blocks), plugin.tried, tokens_of(step)

    def _plain_us(self, tried: list[str], tokens: list[tuple[int, int]]) -> float:
        self._plain.lay_out(tried)
        step_ns = self._plain.step_ns
        assert tokens_of(self._as_it_ships.step()) == tokens, "both schedulers take the same step"
        return (self._plain.step_ns - step_ns) / 1000


def tokens_of(step: Step) -> list[tuple[int, int]]:
    return [(one.request.request_id, one.new_tokens) for one in step.chunks]


class Prompts:
    """Questions of so many blocks behind documents, some of which are asked about more often than others."""

    def __init__(self, question_blocks: int, seed: int) -> None:
        self._question_blocks, self._document_blocks = question_blocks, PROMPT_BLOCKS - question_blocks
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._asked = 0

    def next(self, now_ns: int) -> Request:
        """Return a new request."""
        document = int(DOCUMENTS * self._rng.random() ** 2)
        number = self._asked
        self._asked += 1
        shared, own = self._document_blocks, DOCUMENTS * PROMPT_BLOCKS + number * self._question_blocks
        chain = [*range(document * shared, (document + 1) * shared), *range(own, own + self._question_blocks)]
        tokens = len(chain) * LIMITS.block_tokens
        return Request(number, now_ns, tokens, 1, chain, prefill_ns(tokens, 0), document)


def prefill_ns(n_tokens: int, hit_tokens: int) -> int:
    return PREFILL_NS_PER_TOKEN * (n_tokens - hit_tokens)


def measure(policy: str, waiting: int, new_tokens: int, steps: int, walks: int, seed: int) -> Cost:
    """Take steps with both schedulers, in turns, and time them."""
    pair = Pair(policy, waiting, new_tokens, seed)
    for _ in range(WARM_UP_TURNS):
        pair.turn()
    with _frozen():
        times = [one for _ in range(-(-steps // COUNTED)) for one in pair.turn()[-COUNTED:]][:steps]
        walk_us = statistics.median(pair.ordered.walk_ns() / 1000 for _ in range(walks))
    pair.check()
    order_us, added_us = ([getattr(one, name) for one in times] for name in ("order_us", "added_us"))
    return Cost(
        policy,
        waiting,
        new_tokens,
        steps,
        *(round(figure, 1) for us in (order_us, added_us) for figure in (statistics.median(us), p90(us))),
        schedule_us=round(statistics.median(one.plain_us for one in times), 1),
        walk_us=round(walk_us, 1),
        walk_per_order=round(walk_us / statistics.median(order_us)),
        admitted=round(statistics.mean(one.admitted for one in times), 1),
        changed_blocks=round(statistics.mean(one.changed_blocks for one in times), 1),
    )


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

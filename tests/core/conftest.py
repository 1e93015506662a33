"""Random replays for the core, and what two of them differ in."""

import dataclasses
import itertools
import random
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fairway.engine import Limits, Scheduler
from fairway.policies import Capability, Policy, RulePolicy, Score, make_policy, policy_names
from fairway.profile import Profile, load_profile
from fairway.profile.reader import profile_from
from fairway.replay import Prompts, Replay, replay
from fairway.traces import Trace

MS = 1_000_000
MODELLED = load_profile("a6000-llama-3.1-8b-modelled")
MEASURED = profile_from(  # a small table, so that most chunks lie outside
    {
        "format": 1,
        "name": "m",
        "device": "d",
        "model": "m",
        "evidence": "measured",
        "measurement": {"device": "d"},
        "source": "s",
        "efficiency": 0.93,
        "linear": {
            "fit": {"floor_ms": 2.0, "constant_ms": 1.3, "per_token_ms": 0.11},
            "table": {"tokens": [8, 33, 200, 900], "ms": [2.25, 4.5, 30.0, 101.7]},
        },
        "attention": {
            "fit": {"floor_ms": 0.1, "constant_ms": 0.07, "per_context_token_ms": 0.0013},
            "table": {
                "new_tokens": [4, 60, 300],
                "prefix_tokens": [0, 64, 300],
                "ms": [[0.1, 0.2, 0.33], [0.12, 0.25, 0.35], [0.5, 0.61, 0.9]],
            },
        },
    },
    "test",
)
NAMES = [*policy_names(), "ragcache-2", "ragcache-70"]


class Remembering(RulePolicy):
    """A rule that its policy does not let hear of anything, or that it spares victims by."""

    name = "remembering"

    def __init__(self, rule, capabilities):
        self._rule, self.capabilities, self.spared = rule, frozenset(capabilities), 3

    def rule(self):
        return self._rule


GROUPED = Score(lambda head_id: abs(head_id) // 5 - 4 * (abs(head_id) // 20))
HEARS = {Capability.ON_HOOK, Capability.ON_ADMIT}


class Case(NamedTuple):
    """A trace, and what replays it."""

    trace: Trace
    limits: Limits
    profile: Profile
    prompts: Prompts

    def limits_under(self, policy: Policy) -> Limits:
        """Return the limits; under a policy that says what is evicted, with the eviction that lets it."""
        chooses = Capability.VICTIM_RANK in policy.capabilities
        return dataclasses.replace(self.limits, eviction="lru") if chooses else self.limits


def random_case(seed: int) -> Case:
    """Return the case of that seed: shared prefixes, tiny caches, full blocks, long queues, refusals, ties in time."""
    draw = random.Random(seed)
    block_tokens = draw.choice([16, 16, 16, 32])
    limits = Limits(
        cache_blocks=draw.choice([draw.randint(3, 20), draw.randint(10, 80), draw.randint(80, 600), 4000]),
        budget_tokens=draw.choice([16, 17, 40, 64, 200, 512, 2048, 8192]),
        max_num_seqs=draw.choice([1, 2, 3, 8, 64, 256]),
        block_tokens=block_tokens,
    )
    profile = draw.choice([MODELLED, MEASURED])
    trace = _trace(draw, draw.choice([16, 16, 16, 64]))
    trace = _meeting_step_ends(draw, trace, profile, limits)
    limits = dataclasses.replace(limits, eviction=draw.choice(["lru", "lru", "pgdsf"]))
    return Case(trace, limits, profile, Prompts.of(trace, profile, limits))


def _trace(draw: random.Random, block_tokens: int) -> Trace:
    gap_ms, together = draw.choice([(1, 0.2), (30, 0.2), (200, 0.2), (100, 0.95)])
    unused = itertools.count()
    longest = draw.choice([2, 8, 30])
    documents = [[next(unused) for _ in range(draw.randint(1, longest))] for _ in range(draw.randint(1, 12))]
    arrivals_ns, prompts = [0], [_prompt(draw, documents, unused, block_tokens)]
    for _ in range(draw.choice([draw.randint(3, 40), draw.randint(40, 120), draw.randint(100, 300)])):
        later_ns = 0 if draw.random() < together else draw.randint(0, gap_ms * MS)
        arrivals_ns.append(arrivals_ns[-1] + later_ns)
        is_repeated = draw.random() < 0.2
        prompts.append(draw.choice(prompts) if is_repeated else _prompt(draw, documents, unused, block_tokens))
    lengths, runs = zip(*prompts, strict=True)
    return Trace(
        arrival_ns=np.array(arrivals_ns, dtype=np.int64),
        prompt_tokens=np.array(lengths, dtype=np.int64),
        output_tokens=np.ones(len(runs), dtype=np.int64),
        block_ids=np.array([one for run in runs for one in run], dtype=draw.choice([np.int32, np.int64])),
        block_offsets=np.cumsum([0, *map(len, runs)]),
        block_tokens=block_tokens,
        kind=("",) * len(runs),
        phase=("",) * len(runs),
    )


def _prompt(
    draw: random.Random, documents: list[list[int]], unused: Iterator[int], block_tokens: int
) -> tuple[int, list[int]]:
    """Begin with a part of a document, so that prompts are prefixes of one another; half end with a full block."""
    document = draw.choice(documents)
    ids = document[: draw.randint(1, len(document))] + [next(unused) for _ in range(draw.choice([0, 0, 1, 4]))]
    missing_tokens = draw.choice([0, 0, 0, 16 % block_tokens, 1, 5, block_tokens - 1])
    return len(ids) * block_tokens - missing_tokens, ids


def _meeting_step_ends(draw: random.Random, trace: Trace, profile: Profile, limits: Limits) -> Trace:
    """Let some requests arrive at the very instants at which steps end under FCFS, as far as that stays so."""
    ends_ns = replay(trace, make_policy("fcfs"), profile, limits, engine=Scheduler).first_token_ns
    arrivals_ns = trace.arrival_ns.copy()
    for request in range(len(trace)):
        if draw.random() < 0.2:
            later_ns = ends_ns[ends_ns >= arrivals_ns[request]]
            arrivals_ns[request] = later_ns.min() if len(later_ns) else arrivals_ns[request]
    return dataclasses.replace(trace, arrival_ns=np.sort(arrivals_ns))


def difference(one: Replay, other: Replay) -> str | None:
    """Return the name of the first field in which two replays differ."""
    for field in dataclasses.fields(Replay):
        values = [getattr(result, field.name) for result in (one, other)]
        if dataclasses.is_dataclass(values[0]):
            values = [{name: list(column) for name, column in vars(hooks).items()} for hooks in values]
        elif isinstance(values[0], np.ndarray):
            values = [array.tolist() for array in values]
        if values[0] != values[1]:
            return field.name
    return None


def compare(case: Case, policy: str, *, record_hooks: bool) -> int:
    """Replay a case through both; return the number of steps."""
    trace, _, profile, prompts = case
    results = [
        replay(
            trace,
            make_policy(policy),
            profile,
            case.limits_under(make_policy(policy)),
            engine=engine,
            prompts=prompts,
            record_hooks=record_hooks,
        )
        for engine in (None, Scheduler)
    ]
    assert difference(*results) is None, f"{policy} differs in {difference(*results)}"
    return results[0].steps

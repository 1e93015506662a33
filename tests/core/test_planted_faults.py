"""The comparison finds faults: each is planted into a copy of the core that runs as plain Python."""

import dataclasses
import importlib
import itertools
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.core.conftest import GROUPED, HEARS, Case, Remembering, random_case

import fairway.core
from fairway.policies import Turns, make_policy

PLAIN = """
calls = 0

def inner(function, **options):
    def counted(*arguments):
        global calls
        calls += 1
        if calls > {most}:
            raise ValueError("it does not end")
        return function(*arguments)
    return counted

def compiled(function, **options):
    return function

inlined = compiled
int64 = int
"""
MOST_CALLS = 200_000  # of a case: a fault may make it endless
MOST_REQUESTS = 60  # of a case: plain Python is slow
MOST_CASES = 120


class Fault(NamedTuple):
    """What is replaced by what in which file, and the policy (or `PGDSF`) under which it shows."""

    file: str
    right: str
    wrong: str
    policy: str
    first_seed: int = 0  # of the cases, where few show it


PGDSF, FEW_TURNS = "fcfs+pgdsf", "few-turns"

OTHERS = {FEW_TURNS: lambda: Remembering(Turns(4, GROUPED, True, 1), HEARS)}

FAULTS = {
    "the youngest are evicted": Fault(
        "blocks", "run = segments[ends, at.BEHIND]", "run = segments[ends, at.BEFORE]", "fcfs"
    ),
    "prefixes are freed before suffixes": Fault(
        "blocks",
        "range(begin + requests[request, at.SEGMENTS] - 1, begin - 1, -1)",
        "range(begin, begin + requests[request, at.SEGMENTS])",
        "fcfs",
    ),
    "with its oldest copy a block is gone": Fault("blocks", "ROOT if younger == at.NONE else younger", "ROOT", "fcfs"),
    "a hit's own blocks count as room": Fault("clock", "state[at.FREE] - unheld_blocks", "state[at.FREE]", "fcfs"),
    "one sequence too many": Fault(
        "clock",
        "state[at.STEP_RUNNING] < settings[at.MAX_NUM_SEQS]",
        "state[at.STEP_RUNNING] <= settings[at.MAX_NUM_SEQS]",
        "fcfs",
    ),
    "an arrival at the end of a step that goes on comes late": Fault(
        "clock",
        "state[at.ARRIVED]] <= state[at.NOW_NS]",
        "state[at.ARRIVED]] <= state[at.NOW_NS] - (state[at.PARTIAL] != at.NONE)",
        "fcfs",
    ),
    "times are cut, not rounded": Fault("step_time", "np.rint(ms)", "np.floor(ms)", "fcfs"),
    "an extrapolated step counts its attention alone": Fault(
        "clock", "if is_measured else new_tokens", "if is_measured else state[at.STEP_EXTRAPOLATED]", "fcfs"
    ),
    "ledgers start at nothing": Fault(
        "clock", "weight * _work(queue, fast), 1.0 * _work(queue, fair)", "0.0, 0.0", "fairway"
    ),
    "a tie goes to the fair lane": Fault(
        "clock", "from_fast = fast_ledger <= fair_ledger", "from_fast = fast_ledger < fair_ledger", "fairway"
    ),
    "a lane goes on with a request that the other released": Fault(
        "clock", "            if place == fast:\n", "            if place == fast and from_fast:\n", "fairway"
    ),
    "the oldest comes a turn late": Fault("clock", "state[at.ADMISSIONS] + 1) %", "state[at.ADMISSIONS]) %", "klpm-4"),
    "hits do not shrink": Fault(
        "queue", "if before == segments[segment, at.BLOCKS]:", "if before > segments[segment, at.BLOCKS]:", "lpm"
    ),
    "hits do not go on to the next segment": Fault("queue", "        if is_full:\n", "        if False:\n", "lpm"),
    "the youngest of equal keys": Fault(
        "queue",
        "place = best_group * GROUP\n    while columns[KEY, place] != best:\n        place += 1\n",
        "place = min(best_group * GROUP + 64, end) - 1\n    while columns[KEY, place] < best:\n        place -= 1\n",
        "lpm",
    ),
    "a key stays as it was": Fault("queue", "queue.groups[STALE, place // GROUP] = 1\n\n", "pass\n\n", "lpm"),
    "the least for the most": Fault(
        "formula", "max(ints[first, 0], ints[second, 0])", "min(ints[first, 0], ints[second, 0])", "ragcache"
    ),
    "the wait stands still": Fault("formula", "ints[first, i] - ints[second, i]", "ints[first, i]", "fairway"),
    "prompts part a block late": Fault("trie", "same = first_partial\n", "same = first_partial + 1\n", "fcfs"),
    "a last full block belongs to what is before it": Fault("trie", "if limit < length and", "if False and", "fcfs"),
    "ranks of equal keys change": Fault(
        "orders", "keys[spare[first]] >= keys[order[second]]", "keys[spare[first]] > keys[order[second]]", "lpm"
    ),
    "another percentile": Fault("hooks", "count * 95 + 99", "count * 90 + 99", "fcfs"),
    "hooks do not count": Fault("clock", "state[at.HOOKS_SEEN] += 1", "pass", "lpm-aging"),
    "what was executed before counts": Fault("queue", "1, state[at.COMPUTED_TOKENS]", "1, 0", "hrrn"),
    "the window is a request wider": Fault(
        "orders", "columns[PASSED, middle] >= settings[at.K]", "columns[PASSED, middle] > settings[at.K]", "ragcache-2"
    ),
    "an admission passes itself": Fault(
        "orders", "range(state[at.OLDEST_PLACE], place)", "range(state[at.OLDEST_PLACE], place + 2)", "ragcache-1"
    ),
    "a turn takes one more": Fault(
        "orders", "turns[at.SHARE_LEFT, group] > 0)", "turns[at.SHARE_LEFT, group] >= 0)", FEW_TURNS
    ),
    "what a turn leaves is left out": Fault(
        "orders", "state[at.TURN] < 2 * count", "state[at.TURN] < count", FEW_TURNS
    ),
    "the pointer moves up": Fault(
        "orders",
        "state[at.NEXT_POINTER] = (first - 1) % count",
        "state[at.NEXT_POINTER] = (first + 1) % count",
        "preble",
    ),
    "groups change with hits": Fault("queue", "if not settings[at.FIXES_KEYS]:", "if True:", "preble"),
    "nobody pays for a draw": Fault(
        "orders", "turns[at.CREDITS, drawn] -= pool", "turns[at.CREDITS, drawn] -= 0", "preble-proportional"
    ),
    "a tie goes to the lower group": Fault(
        "orders", "+ group + 1 >= turns", "+ group + 1 > turns", "preble-proportional"
    ),
    "siblings stay where they are": Fault("orders", "room[KEYS, index] = -1", "pass", "lpm-sglang"),
    "who has left stays in the list": Fault(
        "orders", "if facts[at.START_NS, listed[index]] == at.NONE:", "if True:", "lpm-sglang"
    ),
    "the best wanted go first": Fault("victims", "if rank > worst:", "if rank < worst or worst < 0:", "peek"),
    "equal ones go the latest used first": Fault("victims", "if rank > worst:", "if rank >= worst:", "peek"),
    "what was wanted before is spared": Fault(
        "victims", "SPARED_IN, segment] == state[at.CALLS]", "SPARED_IN, segment] > 0", "peek"
    ),
    "nobody is spared": Fault("clock", "if spares:", "if False:", "peek"),
    "what lies before others goes": Fault("victims", "or worth.children[run] == 0", "or True", PGDSF),
    "of several copies none may go": Fault(
        "victims", "at.ELDER] != at.NONE or segments[run, at.YOUNGER] != at.NONE:", "at.ELDER] == 3:", PGDSF
    ),
    "nothing ages": Fault("victims", "max(measures[at.AGE], lowest)", "measures[at.AGE]", PGDSF),
    "hits cost, too": Fault("victims", "if start + index >= hit_blocks:", "if True:", PGDSF),
    "use counts once": Fault("victims", "worth.counts[USES, block] += 1", "worth.counts[USES, block] = 1", PGDSF),
    "a tie goes to who was freed later": Fault("victims", "or priority < lowest:", "or priority <= lowest:", PGDSF),
    "a run goes as a whole": Fault("victims", "count == 0 or lowest > next_lowest", "count == 0", PGDSF, 1205),
}


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Return a function that imports a copy of the core with a fault."""

    def plant(fault: Fault | None) -> Any:
        name = f"planted_{next(_NUMBERS)}"
        copy = shutil.copytree(Path(fairway.core.__file__).parent, tmp_path / name)
        (copy / "compiling.py").write_text(PLAIN.format(most=MOST_CALLS), encoding="utf-8")
        if fault is not None:
            file = copy / f"{fault.file}.py"
            text = file.read_text(encoding="utf-8")
            assert text.count(fault.right) == 1, "one place is meant"
            file.write_text(text.replace(fault.right, fault.wrong), encoding="utf-8")
        for file in copy.glob("*.py"):
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace("fairway.core", name), encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        return importlib.import_module(name)

    return plant


_NUMBERS = itertools.count()


def small_cases(first_seed: int = 0) -> Iterator[Case]:
    cases = (random_case(seed) for seed in itertools.count(first_seed))
    return itertools.islice((case for case in cases if len(case.trace) <= MOST_REQUESTS), MOST_CASES)


def outcome(core: Any, case: Case, policy: str) -> dict[str, Any]:
    """Return everything that a core says of a case, as plain lists."""
    trace, _, profile, prompts = case
    name, _, eviction = policy.partition("+")
    limits = dataclasses.replace(case.limits, eviction=eviction or "lru")
    if core is not fairway.core:
        core.compiling.calls = 0
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = core.Prepared.of(trace, profile, limits)
        result = core.run(
            prepared,
            trace.arrival_ns,
            lambda: prompts.head_ids,
            OTHERS[name]() if name in OTHERS else make_policy(name),
            limits,
            record_hooks=True,
            progress=None,
        )
    hooks = {name: list(column) for name, column in vars(result.hooks).items()}
    fields = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in fields.items()}
    return {**plain, "hooks": hooks}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(planted: Callable[..., Any], name: str) -> None:
    fault = FAULTS[name]
    core = planted(fault)
    for case in small_cases(fault.first_seed):
        right = outcome(fairway.core, case, fault.policy)
        try:
            wrong = outcome(core, case, fault.policy)
        except (IndexError, ValueError):
            return  # it no longer runs to the end
        if wrong != right:
            return
    pytest.fail("no difference")


@pytest.mark.parametrize(
    "policy", ["fcfs", "fairway", "klpm-4", "preble", "preble-proportional", "ragcache-2", "lpm-sglang", "peek", PGDSF]
)
def test_the_copy_without_a_fault_differs_in_nothing(planted: Callable[..., Any], policy: str) -> None:
    core = planted(None)
    for case in itertools.islice(small_cases(), 6):
        assert outcome(core, case, policy) == outcome(fairway.core, case, policy)

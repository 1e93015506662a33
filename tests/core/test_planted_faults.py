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
from tests.core.conftest import Case, random_case

import fairway.core
from fairway.policies import make_policy

PLAIN = """
calls = 0

def inner(function):
    def counted(*arguments):
        global calls
        calls += 1
        if calls > {most}:
            raise ValueError("it does not end")
        return function(*arguments)
    return counted

def compiled(function):
    return function

inlined = compiled
int64 = int
"""
MOST_CALLS = 200_000  # of a case: a fault may make it endless
MOST_REQUESTS = 60  # of a case: plain Python is slow
MOST_CASES = 120


class Fault(NamedTuple):
    """What is replaced by what in which file, and the policy under which it shows."""

    file: str
    right: str
    wrong: str
    policy: str


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
        "hooks", "keys[spare[first]] >= keys[order[second]]", "keys[spare[first]] > keys[order[second]]", "lpm"
    ),
    "another percentile": Fault("hooks", "count * 95 + 99", "count * 90 + 99", "fcfs"),
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


def small_cases() -> Iterator[Case]:
    cases = (random_case(seed) for seed in itertools.count())
    return itertools.islice((case for case in cases if len(case.trace) <= MOST_REQUESTS), MOST_CASES)


def outcome(core: Any, case: Case, policy: str) -> dict[str, Any]:
    """Return everything that a core says of a case, as plain lists."""
    trace, limits, profile, prompts = case
    if core is not fairway.core:
        core.compiling.calls = 0
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = core.Prepared.of(trace, profile, limits)
        result = core.run(
            prepared,
            trace.arrival_ns,
            lambda: prompts.head_ids,
            make_policy(policy),
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
    for case in small_cases():
        right = outcome(fairway.core, case, fault.policy)
        try:
            wrong = outcome(core, case, fault.policy)
        except (IndexError, ValueError):
            return  # it no longer runs to the end
        if wrong != right:
            return
    pytest.fail("no difference")


@pytest.mark.parametrize("policy", ["fcfs", "fairway", "klpm-4", "preble"])
def test_the_copy_without_a_fault_differs_in_nothing(planted: Callable[..., Any], policy: str) -> None:
    core = planted(None)
    for case in itertools.islice(small_cases(), 6):
        assert outcome(core, case, policy) == outcome(fairway.core, case, policy)

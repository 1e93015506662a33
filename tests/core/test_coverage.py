"""What the core does not cover it says by name, and the readable engine does it."""

import dataclasses

import numpy as np
import pytest
from tests.core.conftest import GROUPED, HEARS, MODELLED, NAMES, Case, Remembering, compare, difference, random_case

import fairway.replay
from fairway.core import not_covered
from fairway.core.plan import plan_of
from fairway.engine import Limits
from fairway.errors import InputError
from fairway.policies import (
    ByArrival,
    ByCountedScore,
    ByScore,
    Capability,
    Column,
    Draws,
    HeadGroup,
    Policy,
    RulePolicy,
    Score,
    StandingList,
    Turns,
    make_policy,
)
from fairway.replay import replay


@pytest.fixture
def case() -> Case:
    return random_case(4)


def test_every_policy_and_eviction_of_ours_is_covered(case):
    for name in NAMES:
        assert not_covered(case.trace, make_policy(name), case.limits_under(make_policy(name))) is None


class Caps(RulePolicy):
    name = "caps"
    capabilities = frozenset({Capability.RUNNING_CAP})

    def rule(self):
        return ByArrival()


def test_refusals_by_name(case):
    decode = dataclasses.replace(case.trace, output_tokens=np.full(len(case.trace), 2))
    assert not_covered(decode, make_policy("fcfs"), case.limits) == "requests that ask for more than one output token"
    assert not_covered(case.trace, Caps(), case.limits) == "policy 'caps', which needs running_cap"
    reason = not_covered(case.trace, make_policy("peek"), Limits(64, eviction="pgdsf"))
    assert reason == "eviction 'pgdsf' under policy 'peek', which says itself what is evicted"
    with pytest.raises(InputError, match="says which blocks to evict, and eviction 'pgdsf' too"):
        replay(case.trace, make_policy("peek"), case.profile, Limits(64, eviction="pgdsf"))


def test_the_readable_engine_does_what_the_core_does_not(case, monkeypatch):
    chosen = []
    scheduler, run = fairway.replay.Scheduler, fairway.replay.run
    monkeypatch.setattr(fairway.replay, "Scheduler", lambda *a: chosen.append("readable") or scheduler(*a))
    monkeypatch.setattr(fairway.replay, "run", lambda *a, **kw: chosen.append("core") or run(*a, **kw))
    decode = dataclasses.replace(case.trace, output_tokens=np.full(len(case.trace), 2))
    for trace in (case.trace, decode):
        replay(trace, make_policy("fcfs"), case.profile, case.limits)
    assert chosen == ["core", "readable"]


class Told(Policy):
    """Writes down what it hears; orders by remaining time, longest first, and spares every other one, last first."""

    name = "told"
    columns = frozenset({Column.HIT_TOKENS, Column.REMAINING_NS})
    capabilities = frozenset(Capability) - {Capability.RUNNING_CAP}

    def __init__(self):
        self.heard = []

    def order(self, view):
        return iter(np.argsort(-view.remaining_ns, kind="stable").tolist())

    def victim_rank(self, view):
        return range(len(view) - 1, -1, -2)

    def on_arrival(self, request_id):
        self.heard.append(("arrival", request_id))

    def on_hook(self, view):
        columns = [column.tolist() for column in vars(view).values() if isinstance(column, np.ndarray)]
        self.heard.append(("hook", view.now_ns, columns))

    def on_admit(self, request_id):
        self.heard.append(("admit", request_id))

    def on_step(self, executed_tokens):
        self.heard.append(("step", executed_tokens))


@pytest.mark.parametrize("seed", range(12))
def test_an_asked_policy_hears_and_sees_the_same(seed):
    trace, _, profile, prompts = random_case(seed)
    limits = random_case(seed).limits_under(Told())
    told = [Told(), Told()]
    results = [
        replay(trace, policy, profile, limits, engine=engine, prompts=prompts)
        for policy, engine in zip(told, (None, fairway.replay.Scheduler), strict=True)
    ]
    assert told[0].heard == told[1].heard
    assert difference(*results) is None


class Yields(Policy):
    """Yields what it is given."""

    name = "yields"

    def __init__(self, *positions):
        self.positions = positions

    def order(self, view):
        return iter(self.positions)


class Raises(Policy):
    name = "raises"

    def order(self, view):
        yield 0
        raise ZeroDivisionError("no")


@pytest.mark.parametrize("policy", [Yields(), Yields(0, 0), Yields(-1), Yields("first"), Yields(10**6), Raises()])
def test_a_policy_that_misbehaves_gets_the_same_words(policy):
    trace, limits, profile, _ = random_case(7)
    said = []
    for engine in (None, fairway.replay.Scheduler):
        with pytest.raises(InputError) as error:
            replay(trace, policy, profile, limits, engine=engine)
        said.append(str(error.value))
    assert said[0] == said[1]


class Reading(RulePolicy):
    """A rule over any score; without the column it sees no hits, unless hooks are recorded."""

    name = "reading"

    def __init__(self, function, columns=frozenset({Column.HIT_TOKENS})):
        self.score = Score(function)
        self.columns = columns

    def rule(self):
        return ByScore(self.score)


class Mixed(ByArrival):
    """A rule that is not known here."""

    def order(self, view, memory=None):
        return iter(reversed(range(len(view))))


class Reversed(RulePolicy):
    name = "reversed"

    def rule(self):
        return Mixed()


BY_HOOKS = ByCountedScore(Score(lambda hit_tokens, hooks_waited: hit_tokens + 9 * hooks_waited))
OUTSIDE = {
    "deaf": lambda: Remembering(HeadGroup(1, ByArrival()), {Capability.ON_ADMIT}),
    "spares by turns": lambda: Remembering(Turns(4, GROUPED, True, 1), HEARS | {Capability.VICTIM_RANK}),
    "one of four groups": lambda: Remembering(Turns(4, GROUPED, True, 1, offers_all=False), HEARS),
    "draws of four": lambda: Remembering(Draws(4, GROUPED, True), HEARS),
    "spares by arrival": lambda: Remembering(ByArrival(), {Capability.VICTIM_RANK}),
    "spares by hooks": lambda: Remembering(BY_HOOKS, HEARS | {Capability.VICTIM_RANK}),
    "a short list": lambda: Remembering(StandingList(16, 7), HEARS),
    "a window of one": lambda: Remembering(HeadGroup(1, ByArrival()), HEARS),
    "ids": lambda: Reading(lambda request_id: request_id),
    "heads": lambda: Reading(lambda head_id, hit_tokens: hit_tokens - head_id),
    "remaining": lambda: Reading(lambda remaining_ns: -remaining_ns, frozenset(Column)),
    "without hits": lambda: Reading(lambda hit_tokens, n_tokens: hit_tokens * 10 - n_tokens, frozenset()),
    "no arithmetic": lambda: Reading(lambda hit_tokens: np.sqrt(hit_tokens)),
    "no number": lambda: Reading(lambda hit_tokens, n_tokens: hit_tokens / hit_tokens + n_tokens),
    "unknown rule": Reversed,
}


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_outside_rules(name, monkeypatch):
    from tests.core import conftest

    monkeypatch.setattr(conftest, "make_policy", lambda _: OUTSIDE[name]())
    for seed in range(9):
        compare(random_case(seed), name, record_hooks=seed % 3 == 0)


def test_who_asks_in_python():
    asked = [name for name, make in OUTSIDE.items() if plan_of(make()) is None]
    assert asked == ["deaf", "spares by turns", "no arithmetic", "unknown rule"]


def test_an_empty_trace():
    trace = random_case(1).trace.first(0)
    result = replay(trace, make_policy("fairway"), MODELLED, Limits(64), record_hooks=True)
    assert (result.steps, len(result.start_ns), len(result.hooks.step)) == (0, 0, 0)

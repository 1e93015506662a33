"""The shared rules: complete, lazy, with the stated ties."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.exact import miss_before_ten_hits, queue, random_queue
from fairway.policies import ByArrival, ByScore, EveryK, Score, TwoLanes, make_policy, policy_names, rules
from fairway.policies.rules import Memory, descending

LEAVE_OUT = {"preble-one-group"}  # policies that do not offer every request
NAMES = [*policy_names(), "klpm-1", "klpm-3", "ragcache-1"]


def queues(most=60):
    sizes = st.tuples(st.integers(0, 4), st.integers(0, 5)).map(lambda pair: (pair[0] * 512, pair[1] * 300))
    return st.lists(sizes, min_size=1, max_size=most).map(lambda rows: queue(*zip(*rows, strict=True)))


@given(queues(), st.sampled_from([name for name in NAMES if name not in LEAVE_OUT]))
def test_every_request_once(view, name):
    assert sorted(make_policy(name).order(view)) == list(range(len(view)))


@given(queues(), st.sampled_from(NAMES), st.integers(0, 60))
def test_a_prefix_of_the_order_does_not_depend_on_what_is_asked_later(view, name, count):
    policy = make_policy(name)
    assert list(itertools.islice(policy.order(view), count)) == list(policy.order(view))[:count]


@given(st.lists(st.one_of(st.integers(-3, 3), st.integers(-(2**40), 2**40)), max_size=400))
def test_descending_is_a_stable_sort(key):
    expected = sorted(range(len(key)), key=lambda position: (-key[position], position))
    assert list(descending(np.array(key, dtype=np.int64))) == expected


@given(st.integers(1, 3000), st.sampled_from(["ties", "distinct", "with nan"]), st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_descending_is_a_stable_sort_of_a_long_queue(count, kind, seed):
    rng = np.random.Generator(np.random.PCG64(seed))
    key = rng.integers(0, 5, count) if kind == "ties" else rng.random(count)
    if kind == "with nan":
        key[rng.random(count) < 0.1] = np.nan
    assert list(descending(key)) == np.argsort(-key, kind="stable").tolist()


@given(queues())
def test_klpm_identities(view):
    assert list(make_policy("klpm-1").order(view)) == list(make_policy("fcfs").order(view))
    assert list(make_policy(f"klpm-{len(view) + 1}").order(view)) == list(make_policy("lpm").order(view))


@given(queues(), st.integers(1, 9), st.integers(0, 30))
def test_klpm_against_a_plain_reading(view, k, admissions):
    hits = view.hit_tokens.tolist()
    left = list(range(len(view)))
    expected = []
    for j in range(len(view)):
        chosen = left[0] if (admissions + j + 1) % k == 0 else max(left, key=lambda p: (hits[p], -p))
        left.remove(chosen)
        expected.append(chosen)
    policy = make_policy(f"klpm-{k}")
    for request in range(admissions):
        policy.on_admit(request)
    assert list(policy.order(view)) == expected


def two_lanes_plainly(fast, work, weight, charge, fair_restarts):
    """Two lanes by the letter of the definition, on lists."""
    fast, fair = list(fast), list(range(len(work)))
    ledger_fast, ledger_fair = weight * work[fast[0]], work[fair[0]]
    released = []
    while fair:
        by_fast = ledger_fast <= ledger_fair
        chosen = (fast if by_fast else fair)[0]
        was_fair_head = chosen == fair[0]
        fast.remove(chosen)
        fair.remove(chosen)
        released.append(chosen)
        lane = fast if by_fast else fair
        charged = work[chosen] if charge == "released" else (work[lane[0]] if lane else 0)
        if by_fast:
            ledger_fast += weight * charged
            if fair_restarts and was_fair_head and fair:
                ledger_fair = work[fair[0]]
        else:
            ledger_fair += charged
    return released


@given(queues(), st.sampled_from([1, 2, 4, 8]), st.sampled_from(["released", "next"]), st.booleans())
def test_two_lanes_against_a_plain_reading(view, weight, charge, fair_restarts):
    fast = ByScore(Score(lambda hit_tokens: hit_tokens))
    work = [max(1, c) for c in view.uncached_tokens.tolist()]
    expected = two_lanes_plainly(fast.order(view), work, weight, charge, fair_restarts)
    assert list(TwoLanes(fast, weight, charge, fair_restarts).order(view)) == expected


def test_every_switch_of_the_two_lanes_changes_some_order():
    rng = np.random.Generator(np.random.PCG64(1))
    views = [random_queue(rng) for _ in range(200)]
    default = [list(make_policy("fairway").order(view)) for view in views]
    for switch in ({"fast_weight": 2}, {"charge": "next"}, {"fair_restarts": True}, {"patience_multiple": 9}):
        assert [list(make_policy("fairway", **switch).order(view)) for view in views] != default


def test_an_empty_queue_gives_an_empty_order():
    for name in NAMES:
        assert list(make_policy(name).order(queue([], []))) == []


def test_a_large_queue_is_not_sorted_for_its_head(monkeypatch):
    sorted_sizes = []
    falling = rules._falling
    monkeypatch.setattr(rules, "_falling", lambda key: sorted_sizes.append(len(key)) or falling(key))
    view = queue(list(range(5000)), [4000] + [100] * 4999)
    assert next(make_policy("fairway").order(view)) == 4999
    assert max(sorted_sizes) < 64


def test_equal_scores_sort_by_arrival():
    view = queue([512] * 40, [100] * 40)
    assert list(make_policy("lpm").order(view)) == list(range(40))


def test_every_k_starts_at_its_turn():
    view = miss_before_ten_hits()
    best = ByArrival()
    memory = Memory()
    memory.admissions = 3
    assert next(EveryK(4, best=make_policy("lpm").rule()).order(view, memory)) == 0
    assert list(EveryK(2, best=best).order(view)) == list(range(11))


@pytest.mark.parametrize("name", NAMES)
def test_ordering_changes_nothing_in_the_policy(name):
    policy = make_policy(name)
    before = dict(vars(policy))
    list(policy.order(miss_before_ten_hits()))
    after = {key: value for key, value in vars(policy).items() if key in before}
    assert after == before

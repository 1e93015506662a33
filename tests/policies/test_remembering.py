"""Policies that remember from hook to hook: worked examples, and their definitions read plainly, on lists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policies.conftest import Hook, Waiting, hooks, play, view_of

from fairway.errors import InputError
from fairway.policies import make_policy
from fairway.policies.first_seen import FirstSeen


def by_score(waiting, score):
    """Ids by falling score; ``sorted`` is stable, so ties go by arrival."""
    return [one.id for one in sorted(waiting, key=lambda one: -score(one))]


def ask(policy, waiting, admit=(), executed=0):
    """Go through one hook; return the order as ids."""
    view = view_of(waiting)
    policy.on_hook(view)
    order = [waiting[position].id for position in policy.order(view)]
    for one in admit:
        policy.on_admit(one)
    policy.on_step(executed)
    return order


# hrrn


def test_hrrn_by_hand():
    policy = make_policy("hrrn")
    a, b, c = Waiting(0, 0, 1600, 0), Waiting(1, 0, 160, 1), Waiting(2, 5, 320, 2, h=304)
    assert ask(policy, [a, b], executed=1600) == [0, 1], "nothing was executed since: a tie, by arrival"
    assert ask(policy, [a, b, c], executed=160) == [1, 0, 2], "1600/160 = 10, 1600/1600 = 1, c is new: 0"
    assert ask(policy, [a, b, c]) == [1, 2, 0], "1760/160 = 11, 160/16 = 10, 1760/1600 = 1.1"


@given(hooks)
def test_hrrn_against_a_plain_reading(script):
    executed, before = 0, {}
    for waiting, order, _, tokens in play(make_policy("hrrn"), script):
        for one in waiting:
            before.setdefault(one.id, executed)
        assert order == by_score(waiting, lambda one, now=executed: (now - before[one.id]) / max(1, one.c))
        executed += tokens


# lpm-aging


def test_lpm_aging_by_hand():
    policy = make_policy("lpm-aging")
    cold, hot = Waiting(0, 0, 320, 0), Waiting(1, 0, 320, 1, h=128)
    assert ask(policy, [cold, hot]) == [1, 0]
    newer = [Waiting(one, one, 320, one, h=128) for one in (2, 3)]
    assert ask(policy, [cold, newer[0]]) == [2, 0], "64 against 128"
    assert ask(policy, [cold, newer[1]]) == [0, 3], "128 against 128: a tie, by arrival"


@given(hooks, st.sampled_from([0, 16, 64]))
def test_lpm_aging_against_a_plain_reading(script, tokens_per_hook):
    waited = {}
    for waiting, order, _, _ in play(make_policy("lpm-aging", tokens_per_hook=tokens_per_hook), script):
        assert order == by_score(waiting, lambda one: one.h + tokens_per_hook * waited.get(one.id, 0))
        for one in waiting:
            waited[one.id] = waited.get(one.id, 0) + 1


@given(hooks)
def test_lpm_aging_of_nothing_is_lpm(script):
    for waiting, order, _, _ in play(make_policy("lpm-aging", tokens_per_hook=0), script):
        assert order == by_score(waiting, lambda one: one.h)


# lpm-sglang


def test_siblings_of_a_cold_prefix_wait_for_one():
    first, sibling, other, warm = (
        Waiting(0, 0, 160, 7),
        Waiting(1, 0, 160, 7, h=32),
        Waiting(2, 0, 160, 8),
        Waiting(3, 0, 160, 7, h=48),
    )
    # 3 hits more than 32 tokens: not cold. 1 hits more than 0, yet shares its cold head with 0: to the back.
    assert ask(make_policy("lpm-sglang"), [first, sibling, other, warm]) == [3, 0, 2, 1]


def test_a_prompt_of_32_tokens_has_no_siblings():
    assert ask(make_policy("lpm-sglang"), [Waiting(0, 0, 32, 7), Waiting(1, 0, 160, 7), Waiting(2, 0, 160, 9)]) == [
        *(0, 1, 2)
    ]


def test_the_list_lives_on_and_ties_go_by_place_in_it():
    policy = make_policy("lpm-sglang")
    a, b, c = Waiting(0, 0, 160, 0), Waiting(1, 0, 160, 1, h=64), Waiting(2, 3, 160, 2)
    assert ask(policy, [a, b]) == [1, 0]
    b.h = 0
    assert ask(policy, [a, b, c]) == [1, 0, 2], "all equal now: the last order, the new one at its end"


def test_a_long_list_is_left_as_it_is():
    policy = make_policy("lpm-sglang", most_sorted=3)
    waiting = [Waiting(one, one, 160, one, h=16 * one) for one in range(3)]
    assert ask(policy, waiting) == [2, 1, 0]
    waiting.append(Waiting(3, 9, 160, 3, h=144))
    assert ask(policy, waiting) == [2, 1, 0, 3]
    assert ask(policy, [waiting[0], waiting[2], waiting[3]]) == [3, 2, 0], "short again: sorted again"


def test_as_shipped_128_are_sorted_and_129_are_not():
    waiting = [Waiting(one, one, 1600, one, h=0 if one < 5 else 64) for one in range(129)]
    assert ask(make_policy("lpm-sglang"), waiting[:128])[0] == 5
    assert ask(make_policy("lpm-sglang"), waiting) == list(range(129))


@given(hooks, st.sampled_from([3, 128]))
def test_lpm_sglang_against_a_plain_reading(script, most_sorted):
    queue = []
    for waiting, order, admitted, _ in play(make_policy("lpm-sglang", most_sorted=most_sorted), script):
        of = {one.id: one for one in waiting}
        queue += [one for one in of if one not in queue]
        if len(queue) <= most_sorted:
            back, passed = [], []
            for one in queue:
                if of[one].h <= 32 and of[one].n > 32:
                    if of[one].head in passed:
                        back.append(one)
                    else:
                        passed.append(of[one].head)
            queue.sort(key=lambda one: float("inf") if one in back else -of[one].h)
        assert order == queue
        queue = [one for one in queue if one not in admitted]


# ragcache with a window


def test_the_window_by_hand():
    policy = make_policy("ragcache-2")
    miss, old = Waiting(0, 0, 160, 0), Waiting(1, 0, 320, 1, h=16)
    hits = [Waiting(one, one, 160, one, h=128) for one in (2, 3, 4)]
    assert ask(policy, [miss, old, hits[0]], admit=[2]) == [2, 1, 0]
    assert ask(policy, [miss, old, hits[1]], admit=[3]) == [3, 1, 0], "passed by one"
    assert ask(policy, [miss, old, hits[2]], admit=[0]) == [0, 1, 4], "passed by two: the head group, by arrival"
    assert ask(policy, [old, hits[2]]) == [1, 4], "an older one's admission passes nobody"


@given(hooks, st.integers(1, 4))
def test_the_window_against_a_plain_reading(script, window):
    passed = {}
    for waiting, order, admitted, _ in play(make_policy(f"ragcache-{window}"), script):
        head = [one.id for one in waiting if passed.get(one.id, 0) >= window]
        rest = by_score([one for one in waiting if one.id not in head], lambda one: one.h / max(1, one.c))
        assert order == head + rest
        for later in admitted:
            for one in waiting:
                passed[one.id] = passed.get(one.id, 0) + (one.id < later)


@given(hooks)
def test_a_window_that_never_closes_is_ragcache(script):
    endless = play(make_policy("ragcache-999999999"), script)
    plain = play(make_policy("ragcache"), script)
    assert [order for _, order, _, _ in endless] == [order for _, order, _, _ in plain]


# preble


def test_groups_of_cached_shares():
    shares = {0: 0, 1: 0, 10: 0, 11: 1, 20: 1, 21: 2, 50: 4, 90: 8, 91: 9, 99: 9}  # percent: group
    policy = make_policy("preble")
    for percent, group in shares.items():
        assert policy.memory.groups(view_of([Waiting(0, 0, 100, 0, h=percent)])).tolist() == [group]


def test_turns_by_hand():
    policy = make_policy("preble")
    of_group_0 = [Waiting(one, one, 160, one) for one in range(12)]
    of_group_1 = [Waiting(one, one, 160, one, h=32) for one in range(12, 14)]
    of_group_9 = [Waiting(20, 20, 160, 20, h=152)]
    waiting = of_group_0 + of_group_1 + of_group_9
    assert ask(policy, waiting) == [20, 12, 13, *range(12)], "nothing admitted: the pointer stays"
    assert ask(policy, waiting, admit=[20]) == [20, 12, 13, *range(12)]
    assert ask(policy, waiting, admit=[12]) == [12, 13, *range(10), 20, 10, 11], "from group 8 down: 1, 0, 9"
    assert ask(policy, waiting) == [*range(10), 20, 12, 13, 10, 11], "from below the group that came first: 0, 9, 1"


def test_a_group_stays_what_it_was_first_seen_as_unless_asked():
    one, other = Waiting(0, 0, 160, 0), Waiting(1, 0, 160, 1, h=16)
    fixed, anew = make_policy("preble"), make_policy("preble-reevaluated")
    for policy in (fixed, anew):
        assert ask(policy, [one, other]) == [0, 1], "both of group 0"
    other.h = 80
    assert ask(fixed, [one, other]) == [0, 1]
    assert ask(anew, [one, other]) == [1, 0]


def test_one_group_alone():
    policy = make_policy("preble-one-group")
    waiting = [Waiting(0, 0, 160, 0), Waiting(1, 0, 160, 1, h=80), Waiting(2, 0, 160, 2)]
    assert ask(policy, waiting, admit=[1]) == [1]
    assert ask(policy, [waiting[0], waiting[2]]) == [0, 2]


def test_fifty_five_draws_from_ten_full_groups():
    waiting = [Waiting(10 * one + group, one, 100, 0, h=10 * group + 5) for one in range(10) for group in range(10)]
    drawn = ask(make_policy("preble-proportional"), waiting)[:55]
    groups = [one % 10 for one in drawn]
    assert [groups.count(group) for group in range(10)] == list(range(1, 11))
    assert groups[:3] == [9, 8, 7]


def test_credits_outlive_the_step():
    at_once = make_policy("preble-proportional")
    waiting = [Waiting(one, one, 100, 0, h=95 if one % 2 else 0) for one in range(40)]
    expected = ask(at_once, waiting)[:22]
    one_by_one = make_policy("preble-proportional")
    admitted = []
    for _ in range(22):
        left = [one for one in waiting if one.id not in admitted]
        order = ask(one_by_one, left)
        assert order == ask(one_by_one, left)
        one_by_one.on_admit(order[0])
        admitted.append(order[0])
    assert admitted == expected
    assert [one % 2 for one in admitted].count(0) == 2, "a weight of 1 in 11"


def turns_plainly(waiting, group_of, pointer, one_group):
    groups = [g for g in [(pointer - k) % 10 for k in range(10)] if g in [group_of[one.id] for one in waiting]]
    members = {g: [one.id for one in waiting if group_of[one.id] == g] for g in groups}
    offered = groups[:1] if one_group else groups
    shares = [one for g in offered for one in members[g][: 10 * (g + 1)]]
    return groups[0], shares + [one for g in offered for one in members[g] if one not in shares]


def plain_group(one):
    return 0 if one.h == 0 else next(g for g in range(10) if 10 * one.h <= one.n * (g + 1))


@given(hooks, st.sampled_from(["preble", "preble-reevaluated", "preble-one-group"]))
def test_turns_against_a_plain_reading(script, name):
    pointer, first_seen = 9, {}
    for waiting, order, admitted, _ in play(make_policy(name), script):
        for one in waiting:
            if name == "preble-reevaluated":
                first_seen[one.id] = plain_group(one)
            first_seen.setdefault(one.id, plain_group(one))
        started, expected = turns_plainly(waiting, first_seen, pointer, name == "preble-one-group")
        assert order == expected
        if admitted:
            pointer = (started - 1) % 10


@given(hooks)
def test_proportional_draws_against_a_plain_reading(script):
    account, first_seen = [0] * 10, {}
    for waiting, order, admitted, _ in play(make_policy("preble-proportional"), script):
        for one in waiting:
            first_seen.setdefault(one.id, plain_group(one))
        left, spent, drawn = [one.id for one in waiting], list(account), []
        while left:
            present = {first_seen[one] for one in left}
            for g in present:
                spent[g] += g + 1
            richest = max(present, key=lambda g: (spent[g], g))
            spent[richest] -= sum(g + 1 for g in present)
            chosen = next(one for one in left if first_seen[one] == richest)
            left.remove(chosen)
            drawn.append(chosen)
            if len(drawn) == len(admitted):
                account = list(spent)
        assert order == drawn


# peek


def test_peek_saves_time_not_tokens():
    long, short = Waiting(0, 0, 1600, 0, h=160), Waiting(1, 0, 320, 1, h=304)
    view = view_of([long, short])
    assert list(make_policy("peek").order(view)) == [1, 0]
    view.remaining_ns[0] = view.prefill_ns[0] - 400_000  # now the long one's fewer tokens save more
    assert list(make_policy("peek").order(view)) == [0, 1]


def test_peek_counts_no_negative_saving_and_breaks_ties_by_arrival():
    view = view_of([Waiting(0, 0, 160, 0), Waiting(1, 0, 160, 1), Waiting(2, 0, 160, 2, h=16)])
    view.remaining_ns[0] = view.prefill_ns[0] + 5000  # a longer context can cost more than it saves
    assert list(make_policy("peek").order(view)) == [2, 0, 1]


def test_peek_in_whole_nanoseconds():
    view = view_of([Waiting(0, 0, 160, 0), Waiting(1, 0, 160, 1)])
    view.prefill_ns[:] = 2**60
    view.remaining_ns[:] = [101, 100]  # as floats these savings would be equal
    assert list(make_policy("peek").order(view)) == [1, 0]


def test_peek_with_its_fairness_term():
    waiting = [Waiting(0, 0, 160, 0), Waiting(1, 90_000, 160, 1, h=80)]
    assert list(make_policy("peek").order(view_of(waiting, 100_000))) == [1, 0]
    assert list(make_policy("peek-fair").order(view_of(waiting, 100_000))) == [0, 1], "100 us against 80 + 10"
    assert list(make_policy("peek", alpha=0.5).order(view_of(waiting, 100_000))) == [1, 0], "50 us against 80 + 5"


@given(hooks)
def test_peek_of_no_wait_against_a_plain_reading(script):
    for waiting, order, _, _ in play(make_policy("peek", alpha=0), script):
        assert order == by_score(waiting, lambda one: max(0, 1000 * one.n - 1000 * one.c))


def test_peek_spares_its_first():
    view = view_of([Waiting(one, one, 3200, one, h=16 * one) for one in range(200)])
    assert list(make_policy("peek").victim_rank(view)) == list(range(199, 71, -1))
    assert list(make_policy("peek", spared=2).victim_rank(view)) == [199, 198]


# what all of them have in common


REMEMBERING = [
    *("hrrn", "lpm-aging", "lpm-sglang", "ragcache-2", "peek-fair"),
    *("preble", "preble-reevaluated", "preble-one-group", "preble-proportional"),
]


@pytest.mark.parametrize("name", REMEMBERING)
def test_who_left_the_queue_is_forgotten(name):
    policy = make_policy(name)
    for one in range(50):
        ask(policy, [Waiting(one, one, 160, one)], admit=[one], executed=160)
    held = [value for value in vars(policy.memory).values() if isinstance(value, dict | FirstSeen)]
    assert all(len(value) <= 1 for value in held)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("lpm-aging", {"tokens_per_hook": -1}),
        ("lpm-aging", {"tokens_per_hook": 1.5}),
        ("lpm-sglang", {"most_sorted": True}),
        ("ragcache-0", {}),
        ("peek", {"alpha": float("nan")}),
        ("peek", {"spared": -1}),
        ("preble", {"group": "never"}),
        ("preble", {"work_conserving": "no"}),
        ("preble-proportional", {"work_conserving": False}),
        ("hrrn", {"alpha": 1}),
    ],
)
def test_parameters_that_make_no_sense_are_refused(name, wrong):
    with pytest.raises(InputError, match=f"policy '{name}' refuses its parameters"):
        make_policy(name, **wrong)


def test_the_scripts_reach_orders_unlike_arrival():
    """The plain readings above are worth something only if queues grow and orders differ from arrival."""
    script = [Hook([(160, 0)] * 6, [0, 8, 15], 1, 100)] * 6
    for name in ("hrrn", "lpm-sglang", "ragcache-2", "preble"):
        orders = [order for _, order, _, _ in play(make_policy(name), script)]
        assert len(orders[-1]) == 31
        assert any(order != sorted(order) for order in orders)

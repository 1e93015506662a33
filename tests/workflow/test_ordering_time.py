"""Scheduling time: what is measured is a hook, whole, and of every policy."""

import csv
import json

import pytest

from fairway.errors import InputError
from fairway.ordering_time import machine, measure, random_view
from fairway.policies import Capability, Policy, policy_names


def test_every_policy_at_every_length():
    times = list(measure(policy_names(), [1, 40], repetitions=2, budget_tokens=2048, seed=1))
    assert [(one.waiting, one.policy) for one in times] == [(n, name) for n in (1, 40) for name in policy_names()]
    assert all(0 < one.median_us <= one.p90_us for one in times)


def test_all_that_a_policy_does_at_a_hook_counts(monkeypatch):
    heard = []

    class Busy(Policy):
        capabilities = frozenset({Capability.ON_HOOK, Capability.VICTIM_RANK})

        def on_hook(self, view):
            heard.append("hook")

        def victim_rank(self, view):
            heard.append("rank")

        def order(self, view):
            for position in range(len(view)):
                heard.append(int(view.uncached_tokens[position]))
                yield position

    monkeypatch.setattr("fairway.ordering_time.make_policy", lambda name: Busy())
    (_,) = measure(["busy"], [50], repetitions=1, budget_tokens=20_000, seed=1)
    assert heard[:2] == ["hook", "rank"]
    asked = heard[2 : heard.index("hook", 1)]
    assert sum(asked[:-1]) < 20_000 <= sum(asked), "until the budget is full, and no further"
    assert len(heard) == 2 * len(asked) + 4, "once to warm up, once measured"


def test_views_are_those_of_their_seed():
    one, same, other = random_view(30, 1), random_view(30, 1), random_view(30, 2)
    assert one.n_tokens.tolist() == same.n_tokens.tolist() != other.n_tokens.tolist()
    assert (one.hit_tokens < one.n_tokens).all()
    assert 0 < (one.hit_tokens == 0).sum() < 30


def test_an_unknown_policy_is_refused():
    with pytest.raises(InputError, match="unknown policy 'fifo'"):
        list(measure(["fifo"], [1], repetitions=2, budget_tokens=1, seed=1))


@pytest.mark.parametrize("sizes", [{"waiting": [0], "repetitions": 2}, {"waiting": [8], "repetitions": 0}])
def test_nothing_to_measure_is_refused(sizes):
    with pytest.raises(InputError, match="nothing to measure"):
        list(measure(["fcfs"], **sizes, budget_tokens=1, seed=1))


def test_the_script_notes_the_machine(script, tmp_path):
    done = script(
        tmp_path,
        "time_ordering.py",
        *("--policies", "fcfs", "peek", "--waiting", "8", "--repetitions", "3"),
        *("--out-json", "t.json", "--out-csv", "t.csv"),
    )
    assert done.returncode == 0, done.stdout
    written = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert written["machine"] == machine()
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["policy"], row["waiting"]) for row in rows] == [("fcfs", "8"), ("peek (PEEK-like)", "8")]
    assert [float(row["median_us"]) for row in rows] == [row["median_us"] for row in written["rows"]]

"""A policy that misbehaves ends in one message that names it, never in a traceback, an endless run or a wrong row."""

import itertools
import sys

import numpy as np
import pytest

from fairway.engine import Limits, Request, Scheduler
from fairway.errors import InputError
from fairway.exact import miss_before_ten_hits
from fairway.hooks import HookRecorder
from fairway.policies import Capability, Policy, checked_order, make_policy, register


class Yields(Policy):
    name = "odd"

    def __init__(self, answer):
        self.answer = answer

    def order(self, view):
        return self.answer()


def raising(error):
    def answer():
        yield 0
        raise error

    return answer


BAD = {
    "twice": (lambda: iter([0, 0]), "yielded position 0 of 11 waiting requests twice"),
    "for ever": (lambda: itertools.repeat(0), "yielded position 0 of 11 waiting requests twice"),
    "counts on": (lambda: itertools.count(), "yielded position 11 of 11"),
    "negative": (lambda: iter([-1]), "yielded position -1"),
    "text": (lambda: iter(["a"]), "yielded position 'a'"),
    "fraction": (lambda: iter([0.5]), r"yielded position 0\.5"),
    "truth": (lambda: iter([False]), "yielded position False"),
    "none": (lambda: iter([None]), "yielded position None"),
    "no iterator": (lambda: None, "raised TypeError while ordering"),
    "raises": (raising(ZeroDivisionError("by zero")), "raised ZeroDivisionError while ordering: by zero"),
    "leaves": (raising(SystemExit(0)), "raised SystemExit while ordering"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("asker", ["engine", "recorder"])
def test_a_bad_answer_is_refused_by_name_wherever_it_is_asked_for(case, asker):
    answer, problem = BAD[case]
    policy = Yields(answer)
    with pytest.raises(InputError, match=f"policy 'odd' {problem}"):
        if asker == "recorder":
            HookRecorder()(0, miss_before_ten_hits(), policy)
        else:
            engine = Scheduler(policy, Limits(900, max_num_seqs=20))
            for request_id in range(11):
                engine.submit(Request(request_id, 0, 16, 1, [request_id]))
            engine.schedule(0)


def test_where_it_raised_is_said():
    with pytest.raises(InputError) as caught:
        list(checked_order(Yields(raising(ValueError("x"))), miss_before_ten_hits()))
    assert caught.value.file == __file__
    assert caught.value.line is not None


def test_numpy_positions_and_lists_are_fine():
    assert list(checked_order(Yields(lambda: np.array([2, 0])), miss_before_ten_hits())) == [2, 0]
    assert list(checked_order(Yields(lambda: [1]), miss_before_ten_hits())) == [1]


class RaisesWhenMade(Yields):
    def __init__(self):
        raise RuntimeError("no")


class WrongCapabilities(Yields):
    capabilities = {"on_admit"}  # noqa: RUF012  wrong on purpose

    def __init__(self):
        super().__init__(list)


class RightCapabilities(WrongCapabilities):
    capabilities = frozenset({Capability.ON_ADMIT})


@pytest.mark.parametrize(
    ("factory", "problem"),
    [
        (RaisesWhenMade, "cannot be made: RuntimeError: no"),
        (WrongCapabilities, "declares capabilities"),
        (dict, "is a dict"),
    ],
)
def test_a_policy_that_cannot_be_made_is_refused(factory, problem, monkeypatch):
    monkeypatch.setattr(sys.modules["fairway.policies.registry"], "_FACTORIES", {"mine": factory})
    with pytest.raises(InputError, match=f"policy 'mine' {problem}"):
        make_policy("mine")
    register("mine", RightCapabilities)
    assert make_policy("mine").name == "mine"

"""A policy that misbehaves ends in one message that names it, never in a traceback, an endless run or a wrong row."""

import itertools
import signal
import sys
import threading
import time

import numpy as np
import pytest

from fairway.engine import Limits, Request, Scheduler
from fairway.errors import InputError
from fairway.exact import miss_before_ten_hits
from fairway.hooks import HookRecorder
from fairway.policies import Capability, Policy, asking, checked_order, limited_answers, make_policy, register


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


class HearsBadly(Yields):
    """Orders well and raises at the news of one kind."""

    capabilities = frozenset({Capability.ON_ARRIVAL, Capability.ON_HOOK, Capability.ON_ADMIT, Capability.ON_STEP})

    def __init__(self, event):
        super().__init__(lambda: [0])
        self.event = event

    def hear(self, event):
        if event is self.event:
            raise ZeroDivisionError("by zero")

    def on_arrival(self, request_id):
        self.hear(Capability.ON_ARRIVAL)

    def on_hook(self, view):
        self.hear(Capability.ON_HOOK)

    def on_admit(self, request_id):
        self.hear(Capability.ON_ADMIT)

    def on_step(self, executed_tokens):
        self.hear(Capability.ON_STEP)


@pytest.mark.parametrize("event", sorted(HearsBadly.capabilities, key=lambda event: event.value))
def test_a_policy_that_raises_at_any_news_is_named(event):
    engine = Scheduler(HearsBadly(event), Limits(900))
    with pytest.raises(InputError, match="policy 'odd' raised ZeroDivisionError while hearing of a") as caught:
        engine.submit(Request(0, 0, 16, 1, [0]))
        engine.schedule(0)
    assert caught.value.file == __file__


def loops(view=None):
    while True:
        pass


def loops_through_every_exception(view=None):
    while True:
        try:
            loops()
        except Exception:  # a policy may catch what it likes
            continue


class ThinksForEver(Policy):
    name = "endless"
    capabilities = frozenset({Capability.ON_HOOK})

    def __init__(self, on_hook=lambda view: None, order=lambda view: iter([0])):
        self.on_hook, self._order = on_hook, order

    def order(self, view):
        return self._order(view)


def two_then_nothing(view):
    yield from (0, 1)
    loops()


@pytest.mark.parametrize(
    ("policy", "doing"),
    [
        (ThinksForEver(order=loops), "ordering"),
        (ThinksForEver(order=loops_through_every_exception), "ordering"),
        (ThinksForEver(order=two_then_nothing), "ordering"),
        (ThinksForEver(on_hook=loops), "hearing of a hook"),
    ],
)
def test_a_policy_that_never_answers_is_stopped_and_named(policy, doing):
    engine = Scheduler(policy, Limits(900))
    for request_id in range(3):
        engine.submit(Request(request_id, 0, 16, 1, [request_id]))
    with limited_answers(0.05), pytest.raises(InputError) as caught:
        engine.schedule(0)
    assert caught.value.problem == f"policy 'endless' computed for 0.05 s without an answer while {doing}"
    assert (caught.value.file, caught.value.line is None) == (__file__, False)


def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_time_that_an_engine_takes_is_not_the_policy_s():
    engine = Scheduler(make_policy("fairway"), Limits(900))
    with limited_answers(0.05):
        for request_id in range(3):
            compute(0.15)
            engine.submit(Request(request_id, 0, 16, 1, [request_id]))
            engine.complete(engine.schedule(0), 0)


def test_time_that_an_order_lies_about_is_not_the_policy_s():
    order = checked_order(Yields(lambda: iter([0, 1])), miss_before_ten_hits())
    assert next(order) == 0
    with limited_answers(0.05):
        compute(0.15)  # of somebody else
        assert list(order) == [1]


def test_many_answers_may_take_long_together():
    def slowly(view):
        for position in range(len(view)):
            compute(0.03)
            yield position

    engine = Scheduler(Yields(None), Limits(900))
    engine.policy.order = slowly
    for request_id in range(10):
        engine.submit(Request(request_id, 0, 16, 1, [request_id]))
    with limited_answers(0.1):
        assert len(engine.schedule(0).admitted) == 10


def test_a_policy_that_waits_is_not_stopped_but_told(capfd):
    def sleepy(view):
        time.sleep(0.35)
        yield from range(len(view))

    engine = Scheduler(Yields(None), Limits(900))
    engine.policy.order = sleepy
    engine.submit(Request(0, 0, 16, 1, [0]))
    with limited_answers(0.1):
        assert len(engine.schedule(0).admitted) == 1
    notes = capfd.readouterr().err.splitlines()
    assert notes
    told = f"note: no answer of the policy for 0.1 s by the clock; it is at {__file__}:"
    assert all(note.startswith(told) for note in notes)


def test_the_limit_ends_with_its_block_and_is_none_outside_the_main_thread():
    before = signal.getsignal(signal.SIGVTALRM)
    with limited_answers(5.0):
        assert signal.getsignal(signal.SIGVTALRM) is not before
    assert (signal.getsignal(signal.SIGVTALRM), signal.getitimer(signal.ITIMER_VIRTUAL)) == (before, (0.0, 0.0))
    seen = []

    def in_a_thread():
        with limited_answers(5.0):
            seen.append(signal.getitimer(signal.ITIMER_VIRTUAL))

    thread = threading.Thread(target=in_a_thread)
    thread.start()
    thread.join()
    assert seen == [(0.0, 0.0)]


def test_where_it_raised_is_said():
    with pytest.raises(InputError) as caught:
        list(checked_order(Yields(raising(ValueError("x"))), miss_before_ten_hits()))
    assert caught.value.file == __file__
    assert caught.value.line is not None


def test_numpy_positions_and_lists_are_fine():
    narrow = list(checked_order(Yields(lambda: np.array([2, 0], dtype=np.uint8)), miss_before_ten_hits()))
    assert narrow == [2, 0]
    assert [type(position) for position in narrow] == [int, int], "they are computed with"
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


def test_a_policy_is_found_behind_the_handler_that_tells_of_waiting(monkeypatch):
    def write(*_):  # where the limit ends while the handler writes
        for _ in range(2):
            signal.getsignal(signal.SIGVTALRM)(signal.SIGVTALRM, sys._getframe(1))

    monkeypatch.setattr(asking.os, "write", write)
    engine = Scheduler(ThinksForEver(order=loops), Limits(900))
    engine.submit(Request(0, 0, 16, 1, [0]))
    with limited_answers(0.05), pytest.raises(InputError) as caught:
        engine.schedule(0)
    assert caught.value.file == __file__

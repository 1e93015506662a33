"""Asks a policy and believes nothing: an outside policy may yield anything, raise, or never answer."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from fairway.errors import InputError
from fairway.policies.base import Capability, Policy, QueueView

ANSWER_LIMIT_S = 60.0  # a queue of ten thousand is ordered in milliseconds

_asked = 0  # questions that a policy is at; at an order it is while somebody waits for the next position
_answered = 0  # questions and answers so far, of all policies


_NEWS = {Capability.ON_ARRIVAL: "an arrival", Capability.ON_ADMIT: "an admission", Capability.ON_STEP: "a step"}


def tell_of_hook(policy: Policy, view: QueueView) -> None:
    """Tell a policy of a hook; `InputError` if it raises."""
    with _Blaming(policy, "hearing of a hook"):
        policy.on_hook(view)


def tell_of(event: Capability, policy: Policy, value: int) -> None:
    """Tell a policy of a request's arrival or admission (its id), or of a step (its tokens); `InputError` as above."""
    with _Blaming(policy, f"hearing of {_NEWS[event]}"):
        getattr(policy, event.value)(value)


def checked_order(policy: Policy, view: QueueView) -> Iterator[int]:
    """Yield the policy's positions as long as each is one of ``view`` and new; so it ends, too.

    Raises:
        InputError: a position is no whole number, out of range or yielded twice, or the policy raises; it names the
            policy, and where it raised.
    """
    return _checked(policy, view, policy.order, "ordering")


def checked_victim_rank(policy: Policy, view: QueueView) -> Iterator[int]:
    """Yield the positions whose hits are spared, as long as each is one of ``view`` and new.

    Raises:
        InputError: as for an order.
    """
    return _checked(policy, view, policy.victim_rank, "ranking victims")


def drawn_together(order: Iterator[int], view: QueueView, budget_tokens: int) -> Iterator[int]:
    """Yield ``order``; when it is first asked for, draw as many at once as fill a step's budget with uncached tokens.

    So an order is drawn in one go, and not between admissions that leave nothing of it in the processor's caches.
    """
    together = []
    tokens_of, hit_of = view.n_tokens.item, view.hit_tokens.item
    for position in order:
        together.append(position)
        budget_tokens -= tokens_of(position) - hit_of(position)
        if budget_tokens <= 0:
            break
    yield from together
    yield from order


@contextmanager
def limited_answers(limit_s: float = ANSWER_LIMIT_S) -> Iterator[None]:
    """Inside, a policy that computes for ``limit_s`` without an answer is an `InputError` that says where it was.

    Seconds are those that this process computes, so that a slow, busy or sleeping machine does not count against a
    policy. It takes up to twice as long until one is stopped. One that waits instead of computing is not stopped; after
    as long by the clock a line on standard error says where it is. There is no limit outside the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    answered = _answered

    def tick(_: int, frame: FrameType | None) -> None:
        nonlocal answered
        if _asked and answered == _answered:
            raise _NoAnswerError(limit_s, frame)
        answered = _answered

    with _each(limit_s, signal.ITIMER_VIRTUAL, signal.SIGVTALRM, tick), _told_of_waiting(limit_s):
        yield


@contextmanager
def _told_of_waiting(limit_s: float) -> Iterator[None]:
    """Inside, say where a policy is that gives no answer for ``limit_s`` by the clock; it may wait on purpose."""
    answered = _answered

    def look(_: int, frame: FrameType | None) -> None:
        nonlocal answered
        if _asked and answered == _answered and frame is not None:
            where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            note = f"note: no answer of the policy for {limit_s:g} s by the clock; it is at {where}\n"
            os.write(2, note.encode())  # `print` may be at work where the signal came
        answered = _answered

    with _each(limit_s, signal.ITIMER_REAL, signal.SIGALRM, look):
        yield


@contextmanager
def _each(
    interval_s: float, timer: int, alarm: signal.Signals, handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    """Inside, call ``handler`` whenever ``timer`` has run for ``interval_s``."""
    previous = signal.signal(alarm, handler)
    signal.setitimer(timer, interval_s, interval_s)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(alarm, previous)


class _NoAnswerError(BaseException):
    """Raised where a policy computes for too long; no `Exception`, so that it gets through what a policy catches."""

    def __init__(self, limit_s: float, frame: FrameType | None) -> None:
        super().__init__(f"computed for {limit_s:g} s without an answer")
        while frame is not None and frame.f_code.co_filename == __file__:  # in the other timer's handler
            frame = frame.f_back
        self.file = None if frame is None else frame.f_code.co_filename
        self.line = None if frame is None else frame.f_lineno


def _checked(policy: Policy, view: QueueView, ask: Callable[[QueueView], Iterable[Any]], doing: str) -> Iterator[int]:
    global _asked, _answered
    taken: set[int] = set()
    waiting = len(view)
    with _Blaming(policy, doing):
        for position in ask(view):
            _answered += 1
            if not _is_whole(position) or position in taken or not 0 <= position < waiting:
                break
            position = int(position)  # a narrow integer of numpy's would overflow in what is computed with it
            taken.add(position)
            _asked -= 1  # what is done with the position is not the policy's time, nor is an order that lies about
            try:
                yield position
            finally:
                _asked += 1
        else:
            return
    raise InputError(
        f"policy {policy.name!r} yielded position {position!r} of {waiting} waiting requests"
        + (" twice" if _is_whole(position) and position in taken else ""),
        remedy="yield each position of the view at most once",
    )


def _is_whole(position: Any) -> bool:
    return type(position) is int or isinstance(position, np.integer)


class _Blaming:
    """Inside, a policy is asked; says which one raised or never answered, and where."""

    __slots__ = ("_doing", "_policy")

    def __init__(self, policy: Policy, doing: str) -> None:
        self._policy, self._doing = policy, doing

    def __enter__(self) -> None:
        global _asked, _answered
        _asked += 1
        _answered += 1  # a question that has just been asked is not one that nobody answers

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        global _asked, _answered
        _asked -= 1
        _answered += 1
        if isinstance(error, _NoAnswerError):
            raise InputError(
                f"policy {self._policy.name!r} {error} while {self._doing}",
                file=error.file,
                line=error.line,
                remedy="mend the policy, or allow it more time",
            ) from error
        if isinstance(error, (Exception, SystemExit)):
            last = traceback.extract_tb(error.__traceback__)[-1]
            raise InputError(
                f"policy {self._policy.name!r} raised {type(error).__name__} while {self._doing}: {error}",
                file=last.filename,
                line=last.lineno,
                remedy="mend the policy",
            ) from error

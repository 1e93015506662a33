"""Asks a policy and believes nothing: an outside policy may yield anything, or raise."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from fairway.errors import InputError
from fairway.policies.base import Policy, QueueView


def tell_of_hook(policy: Policy, view: QueueView) -> None:
    """Tell a policy of a hook; `InputError` if it raises."""
    with _blaming(policy, "hearing of a hook"):
        policy.on_hook(view)


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


def _checked(policy: Policy, view: QueueView, ask: Callable[[QueueView], Iterable[Any]], doing: str) -> Iterator[int]:
    taken: set[int] = set()
    for position in _answers(policy, view, ask, doing):
        _refuse_position(policy, position, len(view), taken)
        taken.add(position)
        yield position


def _answers(policy: Policy, view: QueueView, ask: Callable[[QueueView], Iterable[Any]], doing: str) -> Iterator[Any]:
    with _blaming(policy, doing):
        yield from ask(view)


@contextmanager
def _blaming(policy: Policy, doing: str) -> Iterator[None]:
    """Say which policy raised, and where."""
    try:
        yield
    except (Exception, SystemExit) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise InputError(
            f"policy {policy.name!r} raised {type(error).__name__} while {doing}: {error}",
            file=last.filename,
            line=last.lineno,
            remedy="mend the policy",
        ) from error


def _refuse_position(policy: Policy, position: Any, waiting: int, taken: set[int]) -> None:
    whole = isinstance(position, int | np.integer) and not isinstance(position, bool)
    if not whole or position in taken or not 0 <= position < waiting:
        raise InputError(
            f"policy {policy.name!r} yielded position {position!r} of {waiting} waiting requests"
            + (" twice" if whole and position in taken else ""),
            remedy="yield each position of the view at most once",
        )

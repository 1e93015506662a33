"""Asks a policy for its order and believes nothing: an outside policy may yield anything, or raise."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np

from fairway.errors import InputError
from fairway.policies.base import Policy, QueueView


def checked_order(policy: Policy, view: QueueView) -> Iterator[int]:
    """Yield the policy's positions as long as each is one of ``view`` and new; so it ends, too.

    Raises:
        InputError: a position is no whole number, out of range or yielded twice, or the policy raises; it names the
            policy, and where it raised.
    """
    taken: set[int] = set()
    for position in _answers(policy, view):
        _refuse_position(policy, position, len(view), taken)
        taken.add(position)
        yield position


def _answers(policy: Policy, view: QueueView) -> Iterator[Any]:
    try:
        yield from policy.order(view)
    except (Exception, SystemExit) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise InputError(
            f"policy {policy.name!r} raised {type(error).__name__} while ordering: {error}",
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

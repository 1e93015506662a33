"""What an engine refuses: requests that never fit, policies that ask too much."""

from __future__ import annotations

from typing import NoReturn

from fairway.engine.limits import Limits
from fairway.engine.request import Request
from fairway.engine.waiting_queue import PrefillTime
from fairway.errors import InputError
from fairway.policies import Capability, Column, Policy

EVENTS = frozenset({Capability.ON_ARRIVAL, Capability.ON_HOOK, Capability.ON_ADMIT, Capability.ON_STEP})
SUPPORTED_COLUMNS = frozenset({Column.HIT_TOKENS, Column.REMAINING_NS})


class UnservableError(Exception):
    """A request that can never fit into the cache."""


def refuse_unservable(request: Request, limits: Limits) -> None:
    """Raise `UnservableError` if ``request`` needs more than the whole cache holds."""
    needed_tokens = request.prompt_tokens + request.output_tokens - 1  # the last token is never computed
    if needed_tokens > limits.usable_tokens:
        raise UnservableError(
            f"request {request.request_id} can never fit: {request.prompt_tokens} prompt tokens and "
            f"{request.output_tokens} output tokens need {needed_tokens} tokens of cache, which holds "
            f"{limits.usable_tokens}"
        )


def refuse_unsupported(policy: Policy, supported: frozenset[Capability] = EVENTS) -> None:
    """Raise `InputError` naming what ``policy`` asks for and an engine with these capabilities lacks."""
    lacking = [capability.value for capability in policy.capabilities - supported]
    lacking += [column.value for column in policy.columns - SUPPORTED_COLUMNS]
    if lacking:
        raise InputError(
            f"policy {policy.name!r} needs {', '.join(sorted(lacking))}, which the engine does not support",
            remedy="choose a policy or an engine without it",
        )


def refuse_stall(policy: Policy, waiting: int) -> NoReturn:
    """Raise `InputError`: nothing runs or arrives any more, and the policy's order leaves ``waiting`` requests out."""
    raise InputError(
        f"policy {policy.name!r} leaves {waiting} requests waiting for ever: "
        "nothing runs, nothing more arrives, and its order is empty",
        remedy="let its order name every waiting request when nothing else can run",
    )


def refuse_missing_time(policy: Policy, limits: Limits, prefill_time: PrefillTime | None) -> None:
    """Raise `ValueError` if ``T(n, h)`` is needed, by the policy or the eviction, and not given."""
    if prefill_time is None and (Column.REMAINING_NS in policy.columns or limits.eviction == "pgdsf"):
        raise ValueError("remaining_ns and pgdsf need a prefill_time")

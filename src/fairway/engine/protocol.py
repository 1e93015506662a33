"""What a replay asks of an engine: the readable one here, or another that decides the same."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Protocol

from fairway.engine.limits import Limits
from fairway.engine.request import Request
from fairway.engine.scheduler import HookObserver, Step
from fairway.engine.waiting_queue import PrefillTime
from fairway.policies import Policy


class Engine(Protocol):
    """One instance that keeps no clock. It fills in what happened to each submitted request."""

    @property
    def policy(self) -> Policy:
        """The policy that orders the waiting queue."""

    @property
    def waiting(self) -> Sized:
        """The waiting queue."""

    @property
    def has_work(self) -> bool:
        """Whether any request waits or runs."""

    def submit(self, request: Request) -> None:
        """Let a request wait; raises `UnservableError` if it can never fit."""

    def abort(self, request: Request) -> None:
        """Drop a waiting or running request."""

    def schedule(self, now_ns: int) -> Step:
        """Decide what runs in the step that begins at ``now_ns``."""

    def complete(self, step: Step, now_ns: int) -> list[Request]:
        """Let the step's results arrive at ``now_ns``; return the requests that finished."""


EngineFactory = Callable[[Policy, Limits, HookObserver | None, PrefillTime], Engine]

"""The readable engine: one instance, one step at a time, without a clock."""

from fairway.engine.limits import Limits
from fairway.engine.request import Request
from fairway.engine.scheduler import Chunk, HookObserver, Scheduler, Step, UnservableError

__all__ = ["Chunk", "HookObserver", "Limits", "Request", "Scheduler", "Step", "UnservableError"]

"""The readable engine: one instance, one step at a time, without a clock."""

from fairway.engine.limits import EVICTIONS, Limits, refuse_unknown_eviction
from fairway.engine.protocol import Engine, EngineFactory
from fairway.engine.refusals import (
    EVENTS,
    UnservableError,
    refuse_missing_time,
    refuse_stall,
    refuse_unservable,
    refuse_unsupported,
)
from fairway.engine.request import Request, generated_block_id
from fairway.engine.scheduler import Chunk, HookObserver, Scheduler, Step
from fairway.engine.waiting_queue import PrefillTime, WaitingQueue

__all__ = [
    "EVENTS",
    "EVICTIONS",
    "Chunk",
    "Engine",
    "EngineFactory",
    "HookObserver",
    "Limits",
    "PrefillTime",
    "Request",
    "Scheduler",
    "Step",
    "UnservableError",
    "WaitingQueue",
    "generated_block_id",
    "refuse_missing_time",
    "refuse_stall",
    "refuse_unknown_eviction",
    "refuse_unservable",
    "refuse_unsupported",
]

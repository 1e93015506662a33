"""The readable engine: one instance, one step at a time, without a clock."""

from fairway.engine.limits import Limits
from fairway.engine.protocol import Engine, EngineFactory
from fairway.engine.refusals import UnservableError, refuse_unservable, refuse_unsupported
from fairway.engine.request import Request, generated_block_id
from fairway.engine.scheduler import Chunk, HookObserver, Scheduler, Step
from fairway.engine.waiting_queue import WaitingQueue

__all__ = [
    "Chunk",
    "Engine",
    "EngineFactory",
    "HookObserver",
    "Limits",
    "Request",
    "Scheduler",
    "Step",
    "UnservableError",
    "WaitingQueue",
    "generated_block_id",
    "refuse_unservable",
    "refuse_unsupported",
]

"""vLLM's two schedulers, each with the hook before its step."""

from __future__ import annotations

from typing import Any

from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.output import SchedulerOutput
from vllm.v1.core.sched.request_queue import SchedulingPolicy
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.metrics.stats import SchedulerStats

from fairway.errors import InputError
from fairway.vllm.hits import logger
from fairway.vllm.plugin.ordering import Ordering
from fairway.vllm.plugin.queue import WatchedQueue
from fairway.vllm.plugin.settings import PluginSettings
from fairway.vllm.plugin.step_times import StepTimes


class OrderedByPolicy:
    """Put before a scheduler class of vLLM: its waiting queue is walked in a policy's order."""

    def __init__(self, *, vllm_config: Any, **arguments: Any) -> None:
        _refuse_priority(vllm_config.scheduler_config.policy)
        super().__init__(vllm_config=vllm_config, **arguments)  # type: ignore[call-arg]  # to the scheduler it is put before
        self.waiting = WatchedQueue()  # vLLM's own is empty still
        settings = PluginSettings.of(vllm_config.additional_config)
        self.ordering = Ordering(self, settings)
        self.step_times = StepTimes(settings.load_profile()) if settings.time_steps else None

    def schedule(self, *args: Any, **kwargs: Any) -> SchedulerOutput:
        """Order, and schedule as vLLM does."""
        if self.step_times:
            self.step_times.begin()
        self.ordering.before_step()
        output = super().schedule(*args, **kwargs)  # type: ignore[misc]  # the scheduler behind has it
        self.ordering.after_step(output)
        return output

    def update_from_output(self, scheduler_output: SchedulerOutput, *args: Any, **kwargs: Any) -> Any:
        """Take in a step's tokens as vLLM does."""
        answers = super().update_from_output(scheduler_output, *args, **kwargs)  # type: ignore[misc]  # likewise
        if self.step_times:
            try:
                self.ordering.counts.add_step(*self.step_times.end(scheduler_output))
            except Exception as error:  # a server does not end for a clock
                self.step_times = None
                logger.error("steps are timed no longer: %s", error, exc_info=error)
        return answers

    def make_stats(self, *args: Any, **kwargs: Any) -> SchedulerStats | None:
        """Add what was counted of the ordering."""
        stats = super().make_stats(*args, **kwargs)  # type: ignore[misc]  # likewise
        if stats is not None:
            self.ordering.take_counts().put_into(stats.num_kv_fetch_reqs_by_stage)
        return stats


class PolicyScheduler(OrderedByPolicy, Scheduler):
    """The synchronous one."""


class AsyncPolicyScheduler(OrderedByPolicy, AsyncScheduler):
    """The asynchronous one, which schedules a step while the one before runs."""


def _refuse_priority(scheduling_policy: str) -> None:
    if scheduling_policy != SchedulingPolicy.FCFS.value:
        raise InputError(
            f"vLLM's scheduling policy is {scheduling_policy!r}: its queue is a heap by priority, which no other order "
            "can be given",
            remedy="leave --scheduling-policy at fcfs, or leave --scheduler-cls out",
        )

"""Ordering in vLLM's Prometheus registry: a stat logger, which vLLM loads in the process that serves ``/metrics``."""

from __future__ import annotations

from typing import Any

from prometheus_client import REGISTRY, Counter, Gauge, Histogram
from vllm.v1.metrics.loggers import AggregateStatLoggerBase

from fairway.vllm.plugin.counts import Counts

_NS_PER_S = 1e9
_LABELS = ("model_name", "engine")
_ORDER_BUCKETS_S = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0)


class OrderingMetrics(AggregateStatLoggerBase):
    """One for all engines of a server. Where another scheduler runs, it stays silent."""

    def __init__(self, vllm_config: Any, engine_indexes: list[int]) -> None:
        self._is_ours = str(vllm_config.scheduler_config.scheduler_cls).startswith("fairway.")
        if self._is_ours:
            self._model_name = vllm_config.model_config.served_model_name
            self._register()

    def _register(self) -> None:
        self._order_s = _registered(
            Histogram,
            "fairway:order_time_seconds",
            "Time to order the waiting queue before a step, until its first request is known.",
            buckets=_ORDER_BUCKETS_S,
        )
        self._spread = _registered(
            Gauge,
            "fairway:queue_spread",
            "Largest over smallest number of uncached tokens among the waiting requests, seen ten times a second.",
            multiprocess_mode="mostrecent",
        )
        self._overtaken = _registered(
            Counter, "fairway:overtaken_tokens", "Uncached tokens admitted while an older request was left waiting."
        )
        self._fallbacks = _registered(
            Counter, "fairway:fallbacks", "Steps that went on by arrival because the ordering raised."
        )
        self._disagreements = _registered(
            Counter,
            "fairway:shadow_disagreements",
            "Steps in shadow mode in which the policy would have begun with another request.",
        )

        self._step_s = _registered(
            Counter, "fairway:step_seconds", "Time of the engine's steps, where they are timed (time_steps)."
        )
        self._profile_s = _registered(
            Counter, "fairway:step_profile_seconds", "What the profile says of the steps that were timed."
        )

    def record(
        self,
        scheduler_stats: Any,
        iteration_stats: Any,
        mm_cache_stats: Any = None,
        engine_idx: int = 0,
    ) -> None:
        """Take in what a step brought."""
        if scheduler_stats is None or not self._is_ours:
            return
        counts = Counts.taken_from(scheduler_stats.num_kv_fetch_reqs_by_stage)
        labels = (self._model_name, str(engine_idx))
        for order_ns in counts.order_ns:
            self._order_s.labels(*labels).observe(order_ns / _NS_PER_S)
        if counts.most_uncached_tokens:
            self._spread.labels(*labels).set(counts.most_uncached_tokens / max(1, counts.least_uncached_tokens))
        self._overtaken.labels(*labels).inc(counts.overtaken_tokens)
        self._fallbacks.labels(*labels).inc(counts.fallbacks)
        self._disagreements.labels(*labels).inc(counts.disagreements)
        self._step_s.labels(*labels).inc(counts.step_ns / _NS_PER_S)
        self._profile_s.labels(*labels).inc(counts.profile_ns / _NS_PER_S)

    def log_engine_initialized(self) -> None:
        """Say nothing."""


def _registered(kind: Any, name: str, text: str, **more: Any) -> Any:
    """Return a metric; one that an earlier engine of this process has registered gives way to it."""
    for collector in list(REGISTRY._collector_to_names):
        if getattr(collector, "_name", None) == name:
            REGISTRY.unregister(collector)
    return kind(name, text, _LABELS, **more)

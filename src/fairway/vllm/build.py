"""Builds vLLM's scheduler without a model: one group of full attention, prefix caching on, first come first served."""

from __future__ import annotations

import copy
import gc
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

import torch
from vllm.config import CacheConfig, DeviceConfig, ModelConfig, SchedulerConfig, VllmConfig
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.structured_output import StructuredOutputManager

from fairway.engine import Limits
from fairway.vllm.models import model_folder

_KV_HEADS, _HEAD_SIZE = 8, 128  # of that model; they decide nothing here, since no cache is allocated

SchedulerClass = TypeVar("SchedulerClass", bound=Scheduler)


def build_scheduler(
    scheduler_class: type[SchedulerClass],
    limits: Limits,
    additional_config: Mapping[str, Any] | None = None,
    **more: Any,
) -> SchedulerClass:
    """Return a scheduler over ``limits``; ``more`` are further arguments of the class. Costs milliseconds."""
    shared, structured_output_manager = _shared_config()
    config = copy.copy(shared)
    config.additional_config = dict(additional_config or {})
    config.scheduler_config = _scheduler_config(limits, shared.model_config.max_model_len)
    config.cache_config = copy.copy(shared.cache_config)
    config.cache_config.block_size = limits.block_tokens
    config.cache_config.num_gpu_blocks = limits.cache_blocks
    spec = FullAttentionSpec(
        block_size=limits.block_tokens, num_kv_heads=_KV_HEADS, head_size=_HEAD_SIZE, dtype=torch.bfloat16
    )
    scheduler: SchedulerClass = scheduler_class(
        vllm_config=config,
        kv_cache_config=KVCacheConfig(
            num_blocks=limits.cache_blocks,
            kv_cache_tensors=[],
            kv_cache_groups=[KVCacheGroupSpec(["attention"], spec)],
        ),
        structured_output_manager=structured_output_manager,
        block_size=limits.block_tokens,
        hash_block_size=limits.block_tokens,
        **more,
    )
    return scheduler


@cache
def _shared_config() -> tuple[VllmConfig, StructuredOutputManager]:
    """Return what all instances share; it takes seconds, so it is built once a process."""
    gc.freeze()  # vLLM's import leaves so many objects that every full collection takes tens of milliseconds
    model = ModelConfig(model=str(model_folder("llama-3.1-8b")), skip_tokenizer_init=True, dtype="bfloat16", seed=0)
    config = VllmConfig(
        model_config=model,
        cache_config=CacheConfig(block_size=16, enable_prefix_caching=True),
        scheduler_config=_scheduler_config(Limits(cache_blocks=2), model.max_model_len),
        device_config=DeviceConfig("cpu"),
    )
    return config, StructuredOutputManager(config)


def _scheduler_config(limits: Limits, max_model_len: int) -> SchedulerConfig:
    """Bound a step. vLLM refuses ``max_num_batched_tokens`` below ``max_num_seqs``; a small budget has its own name."""
    return SchedulerConfig(
        max_num_scheduled_tokens=limits.budget_tokens,
        max_num_batched_tokens=max(limits.budget_tokens, limits.max_num_seqs),
        max_num_seqs=limits.max_num_seqs,
        max_model_len=max_model_len,
        is_encoder_decoder=False,
        enable_chunked_prefill=True,
        scheduler_reserve_full_isl=True,
    )

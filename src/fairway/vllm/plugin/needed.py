"""What the plugin relies on in vLLM, by name."""

from __future__ import annotations

from fairway.vllm.versions import Needed

_CORE = "vllm.v1.core"
_QUEUE = f"{_CORE}.sched.request_queue"
_SCHEDULER = f"{_CORE}.sched.scheduler"
_CONSTRUCTOR = ("self", "vllm_config", "kv_cache_config", "structured_output_manager", "block_size", "hash_block_size")

NEEDED_BY_PLUGIN = (
    Needed(_SCHEDULER, "Scheduler.__init__", _CONSTRUCTOR),
    Needed(_SCHEDULER, "Scheduler.schedule", ("self",)),
    Needed(_SCHEDULER, "Scheduler.update_from_output", ("self", "scheduler_output")),
    Needed(_SCHEDULER, "Scheduler.make_stats", ("self",)),
    Needed(_SCHEDULER, "Scheduler.pause_state"),
    Needed(_SCHEDULER, "Scheduler._handle_blocked_waiting_request", ("self", "request")),
    Needed(_SCHEDULER, "Scheduler._is_blocked_waiting_status", ("status",)),
    Needed(f"{_CORE}.sched.async_scheduler", "AsyncScheduler.schedule", ("self",)),
    Needed(f"{_CORE}.sched.interface", "PauseState.UNPAUSED"),
    *(
        Needed(_QUEUE, f"FCFSRequestQueue.{method}")
        for method in (
            *("add_request", "pop_request", "peek_request", "prepend_request", "prepend_requests"),
            *("remove_request", "remove_requests"),
        )
    ),
    Needed(f"{_CORE}.sched.output", "SchedulerOutput", ("total_num_scheduled_tokens", "num_scheduled_tokens")),
    Needed(f"{_CORE}.kv_cache_utils", "make_block_hash_with_group_id", ("block_hash", "group_id")),
    Needed(f"{_CORE}.block_pool", "BlockHashToBlockMap.insert", ("self", "key", "block")),
    Needed(f"{_CORE}.block_pool", "BlockHashToBlockMap.pop", ("self", "key", "block_id")),
    Needed(f"{_CORE}.kv_cache_manager", "KVCacheManager.prefix_cache_lookup_enabled", ("self", "request")),
    Needed(
        f"{_CORE}.kv_cache_coordinator",
        "UnitaryKVCacheCoordinator.find_longest_cache_hit",
        ("self", "block_hashes", "max_cache_hit_length"),
    ),
    Needed("vllm.v1.kv_cache_interface", "FullAttentionSpec", ("block_size",)),
    Needed("vllm.v1.metrics.stats", "SchedulerStats", ("num_kv_fetch_reqs_by_stage",)),
    Needed("vllm.v1.request", "Request", ("request_id", "prompt_token_ids", "arrival_time", "block_hasher")),
)

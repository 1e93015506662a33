"""Which vLLM this works with, checked by name before anything of it is used.

The scheduler's interface is not public and moves every release. So a version is either tested or refused, and what
differs is said by class, call and parameter.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fairway.engine import EngineFactory
from fairway.errors import InputError

TESTED_VERSIONS = ("0.32.0",)
_REMEDY = "set up the tested one with `make vllm-env` and use its Python, .venv-vllm/bin/python"


class Needed(NamedTuple):
    """A class or call of vLLM that is relied on, and the parameters that it is given or gives."""

    module: str
    name: str
    parameters: tuple[str, ...] = ()


_CORE = "vllm.v1.core"
NEEDED = (
    Needed("vllm.sampling_params", "SamplingParams", ("max_tokens", "ignore_eos")),
    Needed("vllm.config", "ModelConfig", ("model", "skip_tokenizer_init", "dtype", "seed")),
    Needed("vllm.config", "VllmConfig", ("model_config", "cache_config", "scheduler_config", "device_config")),
    Needed("vllm.config", "CacheConfig", ("block_size", "enable_prefix_caching")),
    Needed(
        "vllm.config",
        "SchedulerConfig",
        (
            *("max_num_scheduled_tokens", "max_num_batched_tokens", "max_num_seqs", "max_model_len"),
            *("is_encoder_decoder", "enable_chunked_prefill", "scheduler_reserve_full_isl"),
        ),
    ),
    Needed("vllm.config", "DeviceConfig", ("device",)),
    Needed("vllm.utils.hashing", "sha256"),
    Needed(f"{_CORE}.kv_cache_utils", "init_none_hash", ("hash_fn",)),
    Needed(f"{_CORE}.kv_cache_utils", "get_request_block_hasher", ("hash_block_size", "caching_hash_fn")),
    Needed(f"{_CORE}.kv_cache_utils", "hash_block_tokens", ("hash_function", "parent_block_hash")),
    Needed(f"{_CORE}.kv_cache_utils", "make_block_hash_with_group_id", ("block_hash", "group_id")),
    Needed(f"{_CORE}.kv_cache_utils", "get_block_hash", ("key",)),
    Needed(f"{_CORE}.block_pool", "BlockHashToBlockMap.insert", ("self", "key", "block")),
    Needed(f"{_CORE}.block_pool", "BlockHashToBlockMap.pop", ("self", "key", "block_id")),
    Needed(f"{_CORE}.kv_cache_manager", "KVCacheManager.get_computed_blocks", ("self", "request")),
    Needed(f"{_CORE}.sched.request_queue", "FCFSRequestQueue.extend"),
    Needed(f"{_CORE}.sched.request_queue", "FCFSRequestQueue.clear"),
    Needed(
        f"{_CORE}.sched.scheduler",
        "Scheduler.__init__",
        ("self", "vllm_config", "kv_cache_config", "structured_output_manager", "block_size", "hash_block_size"),
    ),
    Needed(f"{_CORE}.sched.scheduler", "Scheduler.schedule", ("self",)),
    Needed(f"{_CORE}.sched.scheduler", "Scheduler.add_request", ("self", "request")),
    Needed(f"{_CORE}.sched.scheduler", "Scheduler.finish_requests", ("self", "request_ids", "finished_status")),
    Needed(
        f"{_CORE}.sched.scheduler",
        "Scheduler.update_from_output",
        ("self", "scheduler_output", "model_runner_output"),
    ),
    Needed(f"{_CORE}.sched.scheduler", "Scheduler.reset_prefix_cache", ("self",)),
    Needed(
        f"{_CORE}.sched.output",
        "SchedulerOutput",
        ("scheduled_new_reqs", "scheduled_cached_reqs", "num_scheduled_tokens", "preempted_req_ids"),
    ),
    Needed("vllm.v1.kv_cache_interface", "FullAttentionSpec", ("block_size", "num_kv_heads", "head_size", "dtype")),
    Needed("vllm.v1.kv_cache_interface", "KVCacheConfig", ("num_blocks", "kv_cache_tensors", "kv_cache_groups")),
    Needed("vllm.v1.kv_cache_interface", "KVCacheGroupSpec", ("layer_names", "kv_cache_spec")),
    Needed("vllm.v1.outputs", "ModelRunnerOutput", ("req_ids", "req_id_to_index", "sampled_token_ids")),
    Needed(
        "vllm.v1.request",
        "Request",
        ("request_id", "prompt_token_ids", "sampling_params", "pooling_params", "arrival_time", "block_hasher"),
    ),
    Needed("vllm.v1.request", "RequestStatus.FINISHED_ABORTED"),
    Needed("vllm.v1.structured_output", "StructuredOutputManager", ("vllm_config",)),
)


def load_engine() -> EngineFactory:
    """Return the engine that is vLLM's scheduler; raises `InputError` where vLLM is missing or not the tested one."""
    _keep_to_the_working_directory()
    check_version(NEEDED)
    from fairway.vllm.engine import VllmEngine  # only now: another version may lack what it imports

    return VllmEngine


def check_version(needed: Sequence[Needed] = NEEDED, *, forced: bool = False) -> None:
    """Raise one `InputError` that says which version is installed and which class or call differs.

    ``forced`` lets an untested version through, as long as none of ``needed`` differs by name.
    """
    try:
        version = installed_version()
    except ModuleNotFoundError as error:
        raise InputError(f"vLLM is not installed for this Python ({error.name} is missing)", remedy=_REMEDY) from error
    except Exception as error:  # an import of vLLM beside other versions of its dependencies may raise anything
        raise InputError(f"vLLM cannot be imported: {error}", remedy=_REMEDY) from error
    found = list(differences(needed))
    if not found and (forced or version in TESTED_VERSIONS):
        return
    what = "; ".join(found) or f"none of the {len(needed)} classes and calls that are used differs by name"
    raise InputError(
        f"vLLM {version} is installed, {' or '.join(TESTED_VERSIONS)} is tested: {what}",
        remedy=f"{_REMEDY}. To move on to this one, mend what differs, run `make parity-full` and add the version to "
        "TESTED_VERSIONS in fairway/vllm/versions.py",
    )


def installed_version() -> str:
    """Return the version of the vLLM of this Python."""
    return str(importlib.import_module("vllm").__version__)


def torch_cuda_version() -> str | None:
    """Return the CUDA version that this Python's torch is built for; None for a build for CPUs, and without torch."""
    if importlib.util.find_spec("torch") is None:
        return None
    version = importlib.import_module("torch").version.cuda
    return None if version is None else str(version)


def differences(needed: Sequence[Needed]) -> Iterator[str]:
    """Yield what the installed vLLM lacks of ``needed``, each in a few words."""
    for one in needed:
        try:
            found = _find(one)
        except AttributeError:
            yield f"{one.module} has no {one.name}"
            continue
        except Exception as error:  # as above
            yield f"{one.module} cannot be imported ({error})"
            continue
        missing = [name for name in one.parameters if name not in _parameters(found)]
        if missing:
            yield f"{one.module}.{one.name} has no parameter {', '.join(missing)}"


def _find(needed: Needed) -> Any:
    found = importlib.import_module(needed.module)
    for part in needed.name.split("."):
        found = getattr(found, part)
    if getattr(found, "__isabstractmethod__", False):
        raise AttributeError(f"{needed.name} is only declared")
    return found


def _parameters(found: Any) -> set[str]:
    return set(inspect.signature(found).parameters)


def _keep_to_the_working_directory() -> None:
    """Before vLLM is imported: its cache lies where a run's other outputs lie, it sends nothing and says little."""
    os.environ.setdefault("VLLM_CACHE_ROOT", str(Path(".vllm-cache").resolve()))
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")

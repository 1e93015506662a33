"""Before a day of measuring: whether the machine can do it, checked in seconds instead of found out after an hour."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fairway.errors import InputError
from fairway.measuring.day import Day
from fairway.serving.server import bytes_a_token
from fairway.vllm.models import model_folder
from fairway.vllm.plugin.needed import NEEDED_BY_PLUGIN
from fairway.vllm.versions import check_version, torch_cuda_version

GIB = 1 << 30
_USABLE_GPU_SHARE = 0.9  # of its memory; the rest is for activations and graphs
_DISK_BYTES = 10 * GIB
_HOST_BYTES = {"cpu": 4 * GIB, "cuda": 12 * GIB}  # beside the cache of a CPU
_BYTES_A_WEIGHT = {"float32": 4, "bfloat16": 2, "float16": 2}
_SMI = ("nvidia-smi", "--query-gpu=name,driver_version,memory.total,memory.used", "--format=csv,noheader,nounits")
_MOST_USED_MIB = 1_024


@dataclass(frozen=True)
class Check:
    """One thing that has to hold; ``remedy`` is for when it does not."""

    name: str
    holds: bool
    found: str
    remedy: str

    def __str__(self) -> str:
        return f"{'ok    ' if self.holds else 'FAILED'} {self.name}: {self.found}" + (
            "" if self.holds else f". Remedy: {self.remedy}"
        )


def checks(day: Day, folder: Path) -> Iterator[Check]:
    """Yield every check of this machine; ``folder`` is where results go."""
    yield version_check()
    yield disk_check(shutil.disk_usage(folder).free)
    yield memory_check(day, _available_bytes(Path("/proc/meminfo").read_text(encoding="utf-8")))
    if day.device == "cuda":
        yield from gpu_checks(day, _asked(_SMI), _asked(("nvidia-smi",)), torch_cuda_version())


def version_check() -> Check:
    """Check vLLM's version and what the plugin uses of it."""
    try:
        check_version(NEEDED_BY_PLUGIN)
    except InputError as error:
        return Check("versions", False, error.problem, error.remedy)
    return Check("versions", True, "the tested vLLM, with all that is used of it", "")


def disk_check(free_bytes: int) -> Check:
    """Check the space for rows, logs and vLLM's caches."""
    return Check(
        "disk", free_bytes >= _DISK_BYTES, f"{free_bytes / GIB:.0f} GiB free", f"free {_DISK_BYTES // GIB} GiB"
    )


def memory_check(day: Day, available_bytes: int) -> Check:
    """Check the host's memory; a CPU keeps its cache there."""
    servers = max(len(stage.policies) for stage in day.stages)  # on a CPU they stay up side by side, see `serving.pool`
    needed = _HOST_BYTES[day.device] + (servers * _cache_bytes(day) if day.device == "cpu" else 0)
    return Check(
        "memory",
        available_bytes >= needed,
        f"{available_bytes / GIB:.0f} GiB available, {needed / GIB:.0f} GiB needed",
        "end other programs or take a larger machine",
    )


def gpu_checks(day: Day, gpus: str, smi: str, torch_cuda: str | None) -> Iterator[Check]:
    """Check the first GPU, given what nvidia-smi says: its memory, whether it is free, its driver."""
    if not gpus.strip():
        yield Check("GPU", False, "nvidia-smi names none", "run this on a machine with an NVIDIA card and its driver")
        return
    name, driver, total_mib, used_mib = (cell.strip() for cell in gpus.splitlines()[0].split(","))
    usable = int(_USABLE_GPU_SHARE * int(total_mib)) << 20
    needed = weight_bytes(day.model) + _cache_bytes(day)
    yield Check(
        "GPU memory",
        usable >= needed,
        f"{name}: {usable / GIB:.1f} GiB usable, {needed / GIB:.1f} GiB needed for weights and cache",
        "take a larger card, or workloads with smaller caches",
    )
    yield Check(
        "GPU is free",
        int(used_mib) <= _MOST_USED_MIB,
        f"{used_mib} MiB used",
        "end what runs on it: times measured beside it mean nothing",
    )
    yield _driver_check(driver, smi, torch_cuda)


def _driver_check(driver: str, smi: str, torch_cuda: str | None) -> Check:
    supported = smi.partition("CUDA Version:")[2].split("|")[0].strip()
    if torch_cuda is None:
        return Check(
            "driver",
            False,
            "there is no torch here that is built for CUDA",
            "install vLLM for GPUs, envs/vllm-gpu.yaml",
        )
    holds = _numbers(supported) >= _numbers(torch_cuda)
    found = f"{driver}, for CUDA {supported or 'unknown'}; torch is built for {torch_cuda}"
    return Check("driver", holds, found, f"install a driver for CUDA {torch_cuda} or newer")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def weight_bytes(model: str) -> int:
    """Return the size of a Llama's weights, from its config.json."""
    config = json.loads((model_folder(model) / "config.json").read_text(encoding="utf-8"))
    hidden, layers, vocabulary = config["hidden_size"], config["num_hidden_layers"], config["vocab_size"]
    head_size = config.get("head_dim") or hidden // config["num_attention_heads"]
    queries, keys = config["num_attention_heads"] * head_size, config["num_key_value_heads"] * head_size
    layer = 2 * hidden * queries + 2 * hidden * keys + 3 * hidden * config["intermediate_size"]
    weights = int(layers * layer + 2 * vocabulary * hidden)
    return _BYTES_A_WEIGHT[config.get("dtype") or config["torch_dtype"]] * weights


def _cache_bytes(day: Day) -> int:
    """Return the size of the profile's cache, which is the largest."""
    return (
        day.profile.cache_blocks
        * day.engine.block_tokens
        * bytes_a_token(model_folder(day.model), "float32" if day.device == "cpu" else "auto")
    )


def _available_bytes(meminfo: str) -> int:
    values: Mapping[str, str] = dict(line.split(":", 1) for line in meminfo.splitlines() if ":" in line)
    return int(values["MemAvailable"].split()[0]) << 10


def _asked(command: tuple[str, ...]) -> str:
    """Return what a program prints, nothing where it is not there or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""

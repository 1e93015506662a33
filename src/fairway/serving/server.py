"""Starts a vLLM server with a policy, waits until it serves, and stops it with all its processes."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from fairway.engine import Limits
from fairway.errors import InputError
from fairway.serving.cores import engine_cores, keep_apart
from fairway.serving.memory import KEEPING_MEMORY
from fairway.vllm.models import model_folder

SERVER_MODULE = ("-m", "vllm.entrypoints.openai.api_server")
SCHEDULER_CLASS = "fairway.vllm.plugin.FairwayScheduler"
MODEL_NAME = "served"
_STAT_LOGGERS, _OURS = "vllm.stat_logger_plugins", "fairway"  # the entry point of an installed package
_BROUGHT = Path(__file__).parent / "brought"
_HOST = "127.0.0.1"
_START_S = 900.0
_STOP_S = 30.0
_ANSWER_S = 120.0  # to what is no request for tokens
_OWN_PROCESS = "VLLM_ENABLE_V1_MULTIPROCESSING"  # whether the model has a process beside the engine's
_NICENESS = 5  # each step of it is a quarter more time for the others
_LAST_LINES = 12
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None  # loaded here: a forked child must not import


@dataclass(frozen=True)
class Serving:
    """One server's settings. Without a ``policy`` vLLM runs as it ships, without the plugin.

    ``model`` is one of the architectures of this package or a model's folder, ``load_format`` "dummy" makes weights up.
    ``plugin`` are further settings of the plugin, ``more`` further arguments of vLLM's command line.
    """

    limits: Limits
    policy: str | None
    model: str = "tiny-llama"
    device: str = "cpu"
    dtype: str = "auto"
    load_format: str = "dummy"
    max_model_len: int = 32_768
    parameters: Mapping[str, Any] = field(default_factory=dict)
    plugin: Mapping[str, Any] = field(default_factory=dict)
    more: tuple[str, ...] = ()

    @property
    def engine_dtype(self) -> str:
        """The type of weights and cache: on a CPU float32, since vLLM's own choice, bfloat16, is slow on most."""
        return "float32" if self.device == "cpu" and self.dtype == "auto" else self.dtype

    @property
    def context_tokens(self) -> int:
        """The longest request, in all; vLLM starts only if one fits into the cache."""
        return min(self.max_model_len, self.limits.usable_tokens)

    def arguments(self, port: int) -> list[str]:
        """Return the arguments of vLLM's OpenAI-compatible server."""
        limits = self.limits
        return [
            *("--model", str(model_folder(self.model)), "--served-model-name", MODEL_NAME),
            *("--load-format", self.load_format, "--dtype", self.engine_dtype, "--skip-tokenizer-init"),
            *("--max-model-len", str(self.context_tokens), "--block-size", str(limits.block_tokens)),
            *("--num-gpu-blocks-override", str(limits.cache_blocks)),
            *("--max-num-batched-tokens", str(limits.budget_tokens), "--max-num-seqs", str(limits.max_num_seqs)),
            *("--host", _HOST, "--port", str(port)),
            *("--enable-prompt-tokens-details", "--disable-uvicorn-access-log"),
            *(("--enforce-eager",) if self.device == "cpu" else ()),
            *self._plugin_arguments(),
            *self.more,
        ]

    def kept_arguments(self) -> list[str]:
        """Return the arguments as a measurement keeps them: the model by its name, wherever it lies."""
        place = str(model_folder(self.model))
        return [self.model if argument == place else argument for argument in self.arguments(port=0)]

    def stepped_arguments(self) -> dict[str, Any]:
        """Return the arguments of an engine in the caller's process whose single steps are timed, for `vllm.LLM`."""
        limits = self.limits
        return {
            "model": str(model_folder(self.model)),
            "load_format": self.load_format,
            "dtype": self.engine_dtype,
            "skip_tokenizer_init": True,
            "max_model_len": self.context_tokens,
            "block_size": limits.block_tokens,
            "num_gpu_blocks_override": limits.cache_blocks,
            "max_num_batched_tokens": limits.budget_tokens,
            "max_num_seqs": limits.max_num_seqs,
            "enforce_eager": self.device == "cpu",
            "async_scheduling": False,  # a step is timed from its scheduling to its tokens
            "enable_prefix_caching": True,
            "seed": 0,
        }

    def _plugin_arguments(self) -> list[str]:
        if self.policy is None:
            return []
        settings = {"policy": self.policy, "parameters": dict(self.parameters), **self.plugin}
        return ["--scheduler-cls", SCHEDULER_CLASS, "--additional-config", json.dumps({"fairway": settings})]

    def engine_environment(self) -> dict[str, str]:
        """Return the environment variables of an engine; on a CPU the caller's own choice of cores stays."""
        variables = {
            "VLLM_NO_USAGE_STATS": "1",
            "HF_HUB_OFFLINE": "1",
            "VLLM_CACHE_ROOT": str(Path(".vllm-cache").resolve()),
        }
        if self.device == "cpu":
            tokens = self.limits.cache_blocks * self.limits.block_tokens
            cache_bytes = tokens * bytes_a_token(model_folder(self.model), self.engine_dtype)
            variables["VLLM_CPU_KVCACHE_SPACE"] = str(-(-cache_bytes // 2**30))
            cores = os.environ.get("VLLM_CPU_OMP_THREADS_BIND", ",".join(map(str, engine_cores())))
            variables["VLLM_CPU_OMP_THREADS_BIND"] = cores
            if cores.replace(",", "").isdigit():
                # OpenMP counts all cores, Snakemake tells both how many it gave a job, and torch hears MKL's last. Two
                # threads on one core wait for a time slice in every operation; one on the client's is late with it.
                variables["OMP_NUM_THREADS"] = variables["MKL_NUM_THREADS"] = str(cores.count(",") + 1)
            # The model runs in the engine's process, as for the profile: another process would take a third import and
            # a message each way in every step, with the engine spinning on the client's core until it is answered.
            variables[_OWN_PROCESS] = "0"
            variables.update(KEEPING_MEMORY)
        return variables

    def environment(self) -> dict[str, str]:
        """Return the environment variables that a server is started with, on top of the caller's."""
        paths = [part for part in sys.path if part]
        if not entry_points(group=_STAT_LOGGERS, name=_OURS):  # not installed, so vLLM would not know of the metrics
            paths.append(str(_BROUGHT))
        return {
            **self.engine_environment(),
            "VLLM_SERVER_DEV_MODE": "1",  # has /reset_prefix_cache
            "PYTHONPATH": os.pathsep.join(paths),
        }


@dataclass(frozen=True)
class RunningServer:
    """A server that serves."""

    serving: Serving
    url: str
    log: Path

    def metrics(self) -> dict[str, float]:
        """Return the server's Prometheus metrics: of each name the sum over its labels."""
        totals: dict[str, float] = {}
        for line in self._answer(f"{self.url}/metrics").decode("utf-8").splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                name = name.partition("{")[0]
                totals[name] = totals.get(name, 0.0) + float(value)
        return totals

    def reset_prefix_cache(self) -> None:
        """Empty the prefix cache; raises `InputError` if the server cannot, or does not answer."""
        for _ in range(50):
            request = urllib.request.Request(f"{self.url}/reset_prefix_cache", method="POST")
            if json.loads(self._answer(request) or b"{}").get("success", True):
                return
            time.sleep(0.1)
        raise InputError("the server does not empty its prefix cache", remedy="let its requests end first")

    def _answer(self, request: str | urllib.request.Request) -> bytes:
        try:
            with urllib.request.urlopen(request, timeout=_ANSWER_S) as answer:
                found: bytes = answer.read()
                return found
        except OSError as error:  # as urllib's are
            raise InputError(
                f"the server does not answer: {error}", remedy="read its log; measure again", file=self.log
            ) from error


@contextmanager
def running_server(serving: Serving, log: Path) -> Iterator[RunningServer]:
    """Start a server, give it once it serves, stop it and its workers at the end; its output goes to ``log``.

    Raises `InputError` with the last lines of that output if it does not come up.
    """
    port = free_port()
    command = [sys.executable, *SERVER_MODULE, *serving.arguments(port)]
    with running_command(serving, command, {**os.environ, **serving.environment()}, port, log) as server:
        yield server


@contextmanager
def running_command(
    serving: Serving, command: Sequence[str], environment: Mapping[str, str], port: int, log: Path
) -> Iterator[RunningServer]:
    """Do as `running_server` for a given command line that serves at ``port``."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
    if serving.device == "cpu":  # the client is on the same cores, and must not be late
        os.setpriority(os.PRIO_PROCESS, process.pid, _NICENESS)
    try:
        server = RunningServer(serving, f"http://{_HOST}:{port}", log)
        _wait_until_it_serves(server, process)
        if environment.get(_OWN_PROCESS) == "0":  # else vLLM binds the model's threads
            keep_apart(process.pid)
        yield server
    finally:
        _stop(process)


def end_with_parent() -> None:
    """Let Linux stop this process when the one that started it ends, killed or not: a server would keep its memory."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)


def _wait_until_it_serves(server: RunningServer, process: subprocess.Popen[bytes]) -> None:
    give_up_s = time.monotonic() + _START_S
    while process.poll() is None and time.monotonic() < give_up_s:
        try:
            server._answer(f"{server.url}/health")
            return
        except InputError:
            time.sleep(0.5)
    lines = server.log.read_text(encoding="utf-8", errors="replace").splitlines()
    raise InputError(
        f"the server did not come up: {_cause(lines)}", remedy="read the log and mend what it says", file=server.log
    )


def _cause(lines: Sequence[str]) -> str:
    """Return the line that says why: ours if there is one, else the last error, else the last line."""
    ours = next((line for line in lines if "InputError: " in line), None)
    if ours is not None:
        return ours.partition("InputError: ")[2].strip()
    return next(
        (line for line in reversed(lines) if "Error" in line), lines[-1] if lines else "it said nothing"
    ).strip()


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the server and its workers, which are a process group of their own."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, kind)
        except ProcessLookupError:
            break
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])


def bytes_a_token(model_folder: Path, dtype: str = "auto") -> int:
    """Return the size of one token's keys and values in ``dtype``, from the model's config.json; "auto" is its own."""
    file = model_folder / "config.json"
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
        head_size = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
        own = config.get("dtype") or config.get("torch_dtype")
        size = 4 if (own if dtype == "auto" else dtype) == "float32" else 2
        return int(2 * config["num_hidden_layers"] * config["num_key_value_heads"] * head_size * size)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"is no model's configuration: {error}", file=file, remedy="give a model's folder") from error

"""NVIDIA's `aisimulate` as the peer: its vLLM scheduler, first come first served, on the same trace.

`make peer-env` installs it. What is compared is the replay's own time, `wall_time_ms` in its output: from the trace
read to the report made. Its built-in polynomial gives step times of another card than our profile's.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.load import Load, load_of
from fairway.engine import Limits
from fairway.errors import InputError
from fairway.files import write_json

NS_PER_MS = 1_000_000
KV_BYTES_PER_TOKEN = 131_072  # of Llama 3.1 8B in 16 bits; given, so that no model is looked up
CONTEXT_TOKENS = 131_072


@dataclasses.dataclass(frozen=True)
class Peer:
    """An installed `aisimulate`."""

    program: Path

    def version(self) -> str:
        """Return the version that is installed."""
        code = "from importlib.metadata import version; print(version('aisimulate'))"
        return self._output([str(self.program.with_name("python")), "-c", code]).strip()

    def replay_s(self, trace: Path, limits: Limits) -> float:
        """Return the time of one replay, as the peer states it."""
        with tempfile.TemporaryDirectory() as folder:
            return float(self._predict(trace, limits, Path(folder))["wall_time_ms"]) / 1000

    def load(self, trace: Path, limits: Limits) -> Load:
        """Return how loaded its card was, from the records of a run of its own, which is not timed."""
        with tempfile.TemporaryDirectory() as folder:
            self._predict(trace, limits, Path(folder), "--capture-per-request")
            with (Path(folder) / "out" / "requests.jsonl").open(encoding="utf-8") as lines:
                rows = [json.loads(line) for line in lines]
        names = ("arrival_time_ms", "first_admit_ms", "last_token_ms")
        arrival, start, finish = ([row[name] for row in rows] for name in names)
        return load_of(*((np.array(times) * NS_PER_MS).astype(np.int64) for times in (arrival, start, finish)))

    def _predict(self, trace: Path, limits: Limits, folder: Path, *options: str) -> dict[str, Any]:
        write_json(folder / "config.json", config(trace, limits))  # JSON is YAML
        where = ["--config", str(folder / "config.json"), "--output-dir", str(folder / "out")]
        report = json.loads(self._output([str(self.program), "predict", *where, "--format", "json", *options]))
        if report["completed_requests"] != report["num_requests"]:
            raise InputError("aisimulate did not complete every request", remedy="give it a larger cache", file=trace)
        return dict(report)

    def _output(self, command: list[str]) -> str:
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise InputError(f"aisimulate failed: {last}", remedy="run 'make peer-env' again", file=self.program)
        return done.stdout


def config(trace: Path, limits: Limits) -> dict[str, Any]:
    """Return the configuration that asks for one worker of the same sizes."""
    worker = {
        "scheduler": {"max_batched_tokens": limits.budget_tokens, "max_sequences": limits.max_num_seqs},
        "kv_cache": {
            "block_size": limits.block_tokens,
            "prefix_caching": True,
            "bytes_per_token": KV_BYTES_PER_TOKEN,
            "capacity": {"type": "fixed", "blocks": limits.cache_blocks},
        },
        "timing": {"type": "polynomial"},
    }
    source = {"type": "trace", "paths": [str(trace)], "format": "mooncake", "block_size": limits.block_tokens}
    return {
        "traffic": {"source": source, "load": {"type": "trace_timestamps"}},
        "engine": {
            "mode": "aggregated",
            "model": "meta-llama/Meta-Llama-3.1-8B-Instruct",
            "hardware": "h200_sxm",
            "backend": "vllm",
            "context_length": CONTEXT_TOKENS,
            "workers": {"aggregated": worker},
        },
    }

"""Runs a script of measuring as the Python of vLLM's environment would, with steps that take what a formula says.

Every run of a workload goes into `measured.log`; while there is a file `broken` the second one fails.
"""

import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

from fairway.errors import InputError
from fairway.files import write_sealed
from fairway.rows import MEASUREMENT

SCRIPT = Path(sys.argv[1])
LOG, BROKEN = Path("measured.log"), Path("broken")


class Engine:
    """In place of `fairway.vllm.stepping.SteppedEngine`."""

    def __init__(self, *_: object, **__: object) -> None:
        self.settings = {"dtype": "none"}

    def step_ns(self, chunks: Sequence[tuple[int, int]]) -> int:
        tokens = sum(new for new, _ in chunks)
        return round(1e6 * (2.0 + 0.02 * tokens + sum(1e-6 * new * (new + prefix) for new, prefix in chunks)))

    def generation_ns(self, prefixes: Sequence[int]) -> int:
        return self.step_ns([(1, prefix) for prefix in prefixes])


def simulated(run: Any, files: Sequence[Path], folder: Path, servers: object) -> list[str]:
    """Write what `run_workload` would."""
    from fairway.measuring import run_stage
    from fairway.traces import read_trace

    if BROKEN.exists() and LOG.exists():
        raise InputError("the server is broken", remedy="mend it")
    sizes = ["--block-tokens", str(run.serving.limits.block_tokens)]
    profile = str(run.serving.plugin["profile"])
    command = ["--policy", run.label, "--traces", *map(str, files), "--profile", profile, *sizes]
    subprocess.run([sys.executable, SCRIPT.parent / "replay.py", *command, "--out-dir", folder], check=True)
    facts = {
        "client_late_ms": {"p99": 0.1},
        "token_gap_ms": {},
        "tokens_per_s": 1.0,
        "lone_requests": {"overhead_ms": 1.0, "slowness": 1.0},
        "steps": {"seconds": 1.1, "profile_seconds": 1.0},
        "commit": run.commit,
    }
    served = [run_stage._for_trace(run.serving, read_trace(file)) for file in files]
    runs = [{**facts, "arguments": one.kept_arguments()} for one in served]
    write_sealed(folder / MEASUREMENT, {**run_stage._settings(run), "runs": runs})
    with LOG.open("a", encoding="utf-8") as log:
        log.write(f"{folder}\n")
    return []


sys.modules["aiohttp"] = MagicMock()  # the client's, which is in vLLM's environment alone
if SCRIPT.name == "measure_profile.py":
    sys.modules["fairway.vllm.stepping"] = MagicMock(SteppedEngine=Engine)
else:
    from fairway.measuring import run_stage

    run_stage.run_workload = simulated
sys.argv = sys.argv[1:]
runpy.run_path(str(SCRIPT), run_name="__main__")

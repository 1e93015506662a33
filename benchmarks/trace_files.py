"""The trace files that are measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.replaying import CACHE_BLOCKS, PROFILE
from benchmarks.traffic import Arrivals, Content, parts
from fairway.engine import Limits
from fairway.policies import make_policy
from fairway.profile import load_profile
from fairway.replay import replay
from fairway.traces import read_trace, write_trace
from fairway.traces.parquet import write_parts

NS_PER_S = 1_000_000_000
REFERENCE_REQUESTS = 600


@dataclass(frozen=True)
class Pressure:
    """How fast requests come, in multiples of what first come first served does, and how many are there at 0."""

    name: str
    load: float
    crowd: int = 0


@dataclass(frozen=True)
class TraceFiles:
    """Trace files of one seed in one folder."""

    folder: Path
    seed: int
    rate_1_per_s: float

    @classmethod
    def of(cls, folder: Path, seed: int) -> TraceFiles:
        """Find rate 1.0, what first come first served does with the first requests, all there at once."""
        (trace,) = parts(Content(), Arrivals(1.0, REFERENCE_REQUESTS), seed, REFERENCE_REQUESTS)
        busy_ns = replay(trace, make_policy("fcfs"), load_profile(PROFILE), Limits(CACHE_BLOCKS)).busy_ns
        return cls(folder, seed, REFERENCE_REQUESTS * NS_PER_S / busy_ns)

    def parquet(self, pressure: Pressure, requests: int) -> Path:
        """Return the trace of that many requests under that pressure, as Parquet."""
        path = self.folder / f"{pressure.name.replace(' ', '-')}-{requests}.parquet"
        arrivals = Arrivals(pressure.load * self.rate_1_per_s, pressure.crowd)
        header = {"workload": "benchmark", "seed": self.seed, "parameters": {"cache_blocks": CACHE_BLOCKS}}
        write_parts(parts(Content(), arrivals, self.seed, requests), path, header)
        return path

    def json_lines(self, parquet: Path) -> Path:
        """Return the same trace as JSON lines."""
        path = parquet.with_suffix(".jsonl")
        write_trace(read_trace(parquet), path)
        return path

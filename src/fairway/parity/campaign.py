"""Random cases by the thousand, in chunks of seeds on several processes, until enough steps have been compared."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import fairway
from fairway.files import write_json
from fairway.parity.case import Case, write_case
from fairway.parity.compare import UNHOOKED, Counts, Difference, compare
from fairway.parity.random_cases import random_case
from fairway.parity.shrink import shrink
from fairway.policies import policy_names
from fairway.vllm.versions import installed_version

SEEDS_PER_CHUNK = 8
Report = Callable[[float], None]  # hears the share of steps that are done


@dataclass(frozen=True)
class Found:
    """A difference, and the smallest case that shows one."""

    seed: int
    policy: str
    difference: Difference
    case: Case


@dataclass(frozen=True)
class Outcome:
    """What a campaign met: seeds from 0 on, counts by policy, and the first difference if there is one."""

    seeds: int
    counts: dict[str, Counts]
    found: Found | None

    def total(self) -> Counts:
        """Return the counts over all policies."""
        total = Counts()
        for counts in self.counts.values():
            total.add(counts)
        return total


def compared_policies() -> list[str]:
    """Return every registered policy, two more of the family of k-LPM, and vLLM without the hook."""
    return [*policy_names(), "klpm-1", "klpm-3", UNHOOKED]


def run_campaign(least_steps: int, processes: int, folder: Path, report: Report) -> Outcome:
    """Compare until ``least_steps`` are done. Finished chunks lie in ``folder`` and are not done again.

    Chunks count in the order of their seeds, whoever finishes first, so the outcome depends on the code alone.
    """
    counts = {policy: Counts() for policy in compared_policies()}
    seeds = steps = 0
    for first_seed, chunk in _chunks(processes, folder):
        for policy, met in chunk["counts"].items():
            counts[policy].add(Counts(**met))
            steps += met["steps"]
        seeds = first_seed + SEEDS_PER_CHUNK
        report(min(1.0, steps / least_steps))
        if chunk["differs"] is not None:
            return Outcome(seeds, counts, _shrunk(*chunk["differs"]))
        if steps >= least_steps:
            break
    return Outcome(seeds, counts, None)


def write_found(found: Found, path: Path) -> None:
    """Write the smallest case as a trace that `read_case` reads."""
    write_case(found.case, found.policy, path)


def _chunks(processes: int, folder: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield chunks by rising seed, a few ahead in the making; an end of the loop drops those."""
    code = code_digest()
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        ahead: list[tuple[int, Future[dict[str, Any]]]] = []
        first_seed = 0
        try:
            while True:
                while len(ahead) < 2 * processes:
                    path = folder / code / f"{first_seed}.json"
                    ahead.append((first_seed, _start(pool, first_seed, path)))
                    first_seed += SEEDS_PER_CHUNK
                seed, made = ahead.pop(0)
                yield seed, made.result()
        finally:
            for _, future in ahead:
                future.cancel()


def _start(pool: ProcessPoolExecutor, first_seed: int, path: Path) -> Future[dict[str, Any]]:
    """Let a chunk be made, or read it if it was made before."""
    if not path.exists():
        return pool.submit(_chunk, first_seed, path)
    made: Future[dict[str, Any]] = Future()
    made.set_result(json.loads(path.read_text(encoding="utf-8")))
    return made


def _chunk(first_seed: int, path: Path) -> dict[str, Any]:
    """Compare one chunk's cases under all policies and write down what was met."""
    counts = {policy: Counts() for policy in compared_policies()}
    differs = None
    for seed in range(first_seed, first_seed + SEEDS_PER_CHUNK):
        case = random_case(seed)
        for policy, met in counts.items():
            comparison = compare(case, policy)
            met.add(comparison.counts)
            if differs is None and comparison.difference is not None:
                differs = [seed, policy]
    made = {"counts": {policy: asdict(met) for policy, met in counts.items()}, "differs": differs}
    write_json(path, made)
    return made


def _shrunk(seed: int, policy: str) -> Found:
    small = shrink(random_case(seed), lambda case: compare(case, policy).difference is not None)
    difference = compare(small, policy).difference
    assert difference is not None, "shrinking keeps the difference"
    return Found(seed, policy, difference, small)


def code_digest() -> str:
    """Hash the package's sources and data and what drives them: chunks made by other code do not count."""
    package = Path(fairway.__file__).parent
    digest = hashlib.sha256(f"{installed_version()} {version('torch')} {sys.version}".encode())
    for file in sorted(file for kind in ("*.py", "*.toml", "*.json") for file in package.rglob(kind)):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]

"""One policy's rows on one workload, as arrays; without the warm-up unless asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fairway import rows
from fairway.analysis import wording
from fairway.errors import InputError

WARM_UP = "warm-up"
EVERY_ROW = slice(None)
_DECIDED_BY = {"vllm-virtual": " with vLLM's own scheduler"}  # by backend; others follow the readable engine's rules

_EMBEDDED = "embedded"  # the corpus in which nothing is recorded
Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Result:
    """What one policy did on one workload, over all seeds.

    ``requests`` and ``hooks`` map each column of the row schema to an array and leave the warm-up out (unless it was
    asked for, which only pictures do); ``runs`` has one row per seed and covers whole replays, warm-up included.
    """

    workload: str
    policy: str
    seeds: tuple[int, ...]
    requests: dict[str, Array]
    hooks: dict[str, Array]
    runs: dict[str, Array]
    edited: tuple[str, ...] = ()  # files that were changed after they were written

    @property
    def profile(self) -> str:
        """Name of the step-time profile."""
        return str(self.runs["profile"][0])

    @property
    def profile_evidence(self) -> str:
        """Whether the profile is ``modelled`` or ``measured``."""
        return str(self.runs["profile_evidence"][0])

    @property
    def evidence(self) -> str:
        """What a figure from these rows rests on, in words."""
        decided = _DECIDED_BY.get(str(self.runs["backend"][0]), "")
        return f"{self.runs['evidence'][0]}{decided} on a {self.profile_evidence} profile"

    @property
    def rests_on(self) -> str:
        """The same, and that a file of it was edited if one was, for tables, whose lines are marked by it."""
        return wording.rests_on(self.evidence, edited=bool(self.edited))

    @property
    def corpus(self) -> str:
        """Which corpus the prompts come from."""
        return str(self.runs["corpus"][0])

    @property
    def reuse_is_known(self) -> bool:
        """Whether the trace says what its prompts share; if not, hits and uncached work mean nothing."""
        return bool(self.runs["reuse"][0] == rows.REUSE_KNOWN)

    @property
    def block_tokens(self) -> int:
        """Tokens of a cache block."""
        return int(self.runs["block_tokens"][0])

    @property
    def blocks(self) -> tuple[int, ...]:
        """What the bootstrap draws, one per seed: the window of a recorded trace that it replays, else the seed."""
        windows = self.runs["window"]
        return self.seeds if np.ma.getmaskarray(windows).any() else tuple(int(window) for window in windows)

    @property
    def runs_count(self) -> int:
        """How many independent runs there are."""
        return len(set(self.blocks))

    @property
    def repeats_windows(self) -> bool:
        """Whether several seeds replay one window of a recorded trace, so that its requests are counted once a seed."""
        return self.runs_count < len(self.seeds)

    @property
    def sample(self) -> str:
        """How many independent runs there are, in words: fewer windows than seeds count as windows."""
        if not self.repeats_windows:
            return _counted(self.runs_count, "seed")
        replays = _counted(len(self.seeds), "replay")
        return f"{_counted(self.runs_count, 'window')} in {replays}"

    @property
    def warm_up_requests(self) -> int:
        """How many requests of the warm-up were left out."""
        return int(self.runs["requests"].sum()) - len(self.requests["seed"])

    @property
    def distinct_warm_up_requests(self) -> int | None:
        """How many different requests those are, or None where no window is repeated. They begin their window."""
        if not self.repeats_windows:
            return None
        longest: dict[int, int] = {}
        for seed, window, requests in zip(self.seeds, self.blocks, self.runs["requests"].tolist(), strict=True):
            warm_up = requests - int((self.requests["seed"] == seed).sum())
            longest[window] = max(warm_up, longest.get(window, 0))
        return sum(longest.values())

    def distinct(self, keep: Array | slice) -> int | None:
        """Return how many requests of the recorded trace the kept rows are, or None where no window is repeated.

        A seed begins at its window's first request, so a row's number is its request's place in the window.
        """
        if not self.repeats_windows:
            return None
        window_of = dict(zip(self.seeds, self.blocks, strict=True))
        rows = zip(self.requests["seed"][keep].tolist(), self.requests["request"][keep].tolist(), strict=True)
        return len({(window_of[seed], request) for seed, request in rows})

    @property
    def left_out(self) -> str:
        """What of the trace behind the requests is not replayed, in words; "" where each request is made for a run."""
        left_out = [self.runs[f"left_out_{what}"] for what in ("requests", "tokens")]
        whole = [self.runs[f"of_{what}"] for what in ("requests", "tokens")]
        if np.ma.getmaskarray(left_out[0]).any():
            return ""
        requests, tokens, of_requests, of_tokens = (int(column[0]) for column in (*left_out, *whole))
        origin = "generated" if self.corpus == _EMBEDDED else "recorded"
        return (
            f"of the {origin} trace {requests:,} of {of_requests:,} requests, {100 * tokens / of_tokens:.0f}% of its "
            f"tokens ({self.runs['left_out'][0]})"
        )


def result_folder(rows_root: Path, workload: str, policy: str) -> Path:
    """Where a result lies below the rows of one backend."""
    return rows_root / workload / policy


def read_result(rows_root: Path, workload: str, policy: str, *, with_warm_up: bool = False) -> Result:
    """Read one result.

    Raises:
        InputError: a file is missing or unreadable, holds other rows than its place says, or holds no run.
    """
    folder = result_folder(rows_root, workload, policy)
    edited = rows.edited_files(folder)
    runs = _columns(rows.read_runs(folder))
    requests = _columns(rows.read_requests(folder))
    hooks = _columns(rows.read_hooks(folder))
    _check_place(folder / rows.RUNS.file_name, runs, workload, policy)
    _check_served(folder / rows.REQUESTS.file_name, requests)
    if edited and not (requests["outcome"] == rows.SERVED).any():
        raise InputError(
            f"{', '.join(edited)} was edited after it was written and no request that was served is left",
            remedy=rows.REMEDY,
            file=folder,
        )
    if not with_warm_up:
        requests = _where(requests["phase"] != WARM_UP, requests)
        hooks = _where(_after_warm_up(hooks, requests), hooks)
    return Result(
        workload=workload,
        policy=policy,
        seeds=tuple(int(seed) for seed in runs["seed"]),
        requests=requests,
        hooks=hooks,
        runs=runs,
        edited=edited,
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _columns(table: pa.Table) -> dict[str, Array]:
    return {name: _to_numpy(table[name].combine_chunks()) for name in table.schema.names}


def _to_numpy(column: pa.Array) -> Array:
    if pa.types.is_dictionary(column.type):
        names = np.array(column.dictionary.to_pylist(), dtype=object)
        encoded: Array = names[column.indices.to_numpy()] if len(column) else np.array([], dtype=object)
        return encoded
    if column.null_count == 0 or pa.types.is_floating(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    values = column.fill_null(0).to_numpy(zero_copy_only=False)
    return np.ma.masked_array(values, mask=column.is_null().to_numpy(zero_copy_only=False))


def _where(keep: Array, columns: dict[str, Array]) -> dict[str, Array]:
    return {name: values[keep] for name, values in columns.items()}


def _after_warm_up(hooks: dict[str, Array], counted: dict[str, Array]) -> Array:
    """Say which hooks came no earlier than their seed's first arrival after the warm-up."""
    keep = np.zeros(len(hooks["seed"]), dtype=bool)
    for seed in np.unique(counted["seed"]):
        start_ns = counted["arrival_ns"][counted["seed"] == seed].min()
        keep |= (hooks["seed"] == seed) & (hooks["now_ns"] >= start_ns)
    return keep


def _check_place(path: Path, runs: dict[str, Array], workload: str, policy: str) -> None:
    if len(runs["seed"]) == 0:
        raise InputError("no run in this result", remedy=rows.REMEDY, file=path)
    found = (runs["workload"][0], runs["policy"][0])
    if found != (workload, policy):
        raise InputError(f"rows of {found[1]} on {found[0]} in the wrong place", remedy=rows.REMEDY, file=path)


def _check_served(path: Path, requests: dict[str, Array]) -> None:
    """A request that was served has a first token, no earlier than its arrival."""
    served = requests["outcome"] == rows.SERVED
    without = served & np.ma.getmaskarray(requests["first_token_ns"])
    if without.any():
        raise InputError(f"{int(without.sum())} served requests without a first token", remedy=rows.REMEDY, file=path)
    early = served & (np.ma.getdata(requests["first_token_ns"]) < requests["arrival_ns"])
    if early.any():
        raise InputError(f"{int(early.sum())} first tokens before their arrival", remedy=rows.REMEDY, file=path)

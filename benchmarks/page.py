"""Show what was measured: `benchmarks/README.md` and the figure, from the JSON files in `benchmarks/results`."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.coverage import ASKED
from benchmarks.figure import plot
from fairway.analysis.markdown import table
from fairway.command import run
from fairway.errors import InputError
from fairway.files import is_sealed, write_text

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


@dataclass(frozen=True)
class Places:
    """The folder of results, and what is made of them."""

    results: Path
    page: Path
    figure: Path


KEPT = Places(HERE / "results", HERE / "README.md", ROOT / "docs" / "figures" / "benchmarks.svg")

QUIET_SHARE = 0.97  # of the wall time that a replay must have had the core

INTRODUCTION = """\
# Benchmarks

`make bench` measures everything on this page on one core and writes this page and its figure anew; `make peer-env`
installs NVIDIA's simulator for the comparison, `make vllm-env` vLLM's scheduler for the ordering times. Figures depend
on the machine: ratios within one run are what to compare.

![Ratios to aisimulate, seconds over requests, and ordering times]({figure})"""

TRACE = """\
The trace has {requests:,} requests of {tokens:,.0f} tokens or {blocks:.0f} blocks of 16 on average: questions about 300
documents, Zipf 1.2 over documents, 15% with text that nobody shares. The cache has 12,000 blocks, a step 2,048 tokens,
and at most 256 requests run. Requests arrive at multiples of rate 1.0, which is what first come first served does with
the first 600 of them, all present at once: {rate:.2f} a second on the modelled profile."""

PEER = """\
aisimulate {version} (NVIDIA, Rust; first come first served) replays the same file, and its time is the `wall_time_ms`
that it states: without reading the trace and without its start-up. Ours is the replay alone, and in a column of its own
with the trace's preparation, which serves any number of replays. Its step times are another card's, so its queue is
not as long as ours: both are given. All times are wall times, medians of {repetitions} repetitions one after the other
(smallest to largest)."""

QUEUES = """\
Waiting is the longest queue, and the mean of what waits when a request starts. Busy is the share of time in which a
request runs. A policy marked * is asked for its order in Python at every step; the others run in compiled code."""

LEFT_OUT = "Not measured, because the core does not cover it and the readable engine serves it instead: {}."

GROWTH = """\
Each size is a process of its own: it reads the trace from Parquet, prepares it, and replays it under one policy after
the other, of those that run in compiled code alone. The last line is the time of a request in the longest trace over
that in the shortest: 1 is linear growth."""

START_UP = """\
A process that imports the replay takes {imports}. One that reads, prepares and replays {requests} requests under
`{policy}` takes {cold} when nothing is compiled yet and {cached} when it is."""

ORDERING_TEXT = """\
Per step of vLLM {vllm}'s own scheduler, prompts of 10,240 tokens, {date}, {processor}: what the plugin does, ordering
with exact hits and the upkeep of the reuse index included; what a whole step takes longer than vLLM's own; and looking
up the hit of every waiting request as vLLM does. {speed} Medians over {steps} steps. Each request that comes and goes
costs more than the queue's length does, so prompts with fewer tokens of their own, of which a step admits more, cost
more. Steps are taken in turns of twenty with the plugin and without; the first ones of a turn are not counted."""


def page(document: dict[str, Any], ordering: dict[str, Any] | None, places: Places = KEPT) -> str:
    """Return the page's text."""
    peer = document["against_peer"]
    first = peer["pressures"][0]
    trace = TRACE.format(
        requests=peer["requests"],
        tokens=first["mean_prompt_tokens"],
        blocks=first["mean_blocks"],
        rate=document["rate_1_per_s"],
    )
    sections = [
        INTRODUCTION.format(figure=os.path.relpath(places.figure, places.page.parent)),
        _origin(document, places),
        "## Requests a second, beside aisimulate",
        trace,
        *_beside_peer(peer, document["policies"]),
        *([LEFT_OUT.format("; ".join(document["left_out"].values()))] if document["left_out"] else []),
        "## Up to a million requests",
        GROWTH,
        *(_growth(pressure) for pressure in document["growth"]),
        "## Reading a trace",
        _reading(document["reading"]),
        "## Start-up",
        _start_up(document["start_up"]),
        *(["## Ordering a queue in vLLM", *_ordering(ordering)] if ordering else []),
    ]
    return "\n\n".join(sections) + "\n"


def _origin(document: dict[str, Any], places: Places) -> str:
    machine = document["machine"]
    share = min(sum(row["cpu_s"]) / sum(row["wall_s"]) for row in _all_replays(document["against_peer"]))
    quiet = "" if share >= QUIET_SHARE else " **The machine was not quiet**: the ratios are rough, the times too long."
    return (
        f"Measured on {document['date']} at commit {document['commit']}: {machine['processor']}, one of "
        f"{machine['cores']} cores, {machine['system']}, Python {machine['python']}, numpy {machine['numpy']}; seed "
        f"{document['seed']}. {_speed(document['python_loop_ms'])} The replays had at least {share:.0%} of the core to "
        f"themselves.{quiet} The numbers are in `{os.path.relpath(places.results, ROOT)}/`."
    )


def _speed(loop_ms: Sequence[float]) -> str:
    before, after = loop_ms
    return (
        f"A loop of a million multiplications and additions took Python {before:.0f} ms before the measurements and "
        f"{after:.0f} ms after them; where it takes longer, the times here are longer, too, and the ratios are not."
    )


def _beside_peer(measured: dict[str, Any], served: dict[str, str]) -> Iterator[str]:
    if measured["peer"]:
        yield PEER.format(version=measured["peer"]["version"], repetitions=measured["repetitions"])
    else:
        yield "aisimulate was not there, so nothing is compared with it: `make peer-env`, then `make bench` again."
    for pressure in measured["pressures"]:
        crowd = f", {pressure['crowd']:,} of them there at 0" if pressure["crowd"] else ""
        yield f"### {pressure['name'].capitalize()}: {pressure['load']} times rate 1.0{crowd}"
        yield table(
            ["replay", "requests/s", "times aisimulate", "preparation included", "waiting", "busy"],
            [
                *_peer_rows(pressure, measured),
                *(_policy_row(row, pressure, measured, served[row["policy"]]) for row in pressure["replays"]),
            ],
        )
    yield QUEUES


def _all_replays(measured: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for pressure in measured["pressures"]:
        yield from pressure["replays"]


def _peer_rows(pressure: dict[str, Any], measured: dict[str, Any]) -> Iterator[list[str]]:
    if pressure["peer_s"]:
        load = pressure["peer_load"]
        yield ["aisimulate", _rate(pressure["peer_s"], measured["requests"]), "1", "", *_load(load)]


def _policy_row(row: dict[str, Any], pressure: dict[str, Any], measured: dict[str, Any], how: str) -> list[str]:
    mark = "*" if how == ASKED else ""
    with_preparation_s = [one + other for one, other in zip(row["wall_s"], pressure["preparing_s"], strict=True)]
    ratios = [_ratio(pressure["peer_s"], ours_s) for ours_s in (row["wall_s"], with_preparation_s)]
    return [row["policy"] + mark, _rate(row["wall_s"], measured["requests"]), *ratios, *_load(row)]


def _rate(times_s: Sequence[float], requests: int) -> str:
    rates = [requests / time_s for time_s in times_s]
    return f"{median(rates):,.0f} ({min(rates):,.0f} to {max(rates):,.0f})"


def _ratio(peer_s: Sequence[float], ours_s: Sequence[float]) -> str:
    """Return how many times the peer's time ours goes into, from the repetitions in pairs."""
    if not peer_s:
        return "-"
    ratios = [theirs / ours for theirs, ours in zip(peer_s, ours_s, strict=True)]
    return f"{median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})"


def _load(row: dict[str, Any]) -> list[str]:
    return [f"{row['longest_queue']:,}, {row['mean_queue']:,.1f}", f"{row['busy_share']:.0%}"]


def _growth(pressure: dict[str, Any]) -> str:
    sizes = pressure["sizes"]
    crowd = f", {pressure['crowd']:,} waiting from the first moment" if pressure["crowd"] else ""
    policies = [row["policy"] for row in sizes[0]["replays"]]
    lines = [
        [
            f"{size['requests']:,}",
            *(f"{size[part]['wall_s']:.1f}" for part in ("reading", "preparing")),
            *(f"{row['wall_s']:.1f}" for row in size["replays"]),
            f"{size['peak_memory_mib']:,}",
        ]
        for size in sizes
    ]
    first, last = sizes[0], sizes[-1]
    growth = [
        *(_growth_of(first, last, first[part], last[part]) for part in ("reading", "preparing")),
        *(_growth_of(first, last, *rows) for rows in zip(first["replays"], last["replays"], strict=True)),
    ]
    header = ["requests", "read, s", "prepare, s", *(f"{policy}, s" for policy in policies), "memory, MiB"]
    caption = f"{pressure['name'].capitalize()}, {pressure['load']} times rate 1.0{crowd}:"
    return f"{caption}\n\n{table(header, [*lines, ['a request', *growth, '']])}"


def _growth_of(first: dict[str, Any], last: dict[str, Any], early: dict[str, Any], late: dict[str, Any]) -> str:
    return f"{(late['wall_s'] / last['requests']) / (early['wall_s'] / first['requests']):.2f}"


def _reading(rows: Sequence[dict[str, Any]]) -> str:
    names = {"parquet": "Parquet", "jsonl": "JSON lines"}
    return table(
        ["file", "requests", "size, MB", "seconds", "requests/s", "memory, MiB"],
        [
            [
                names[row["kind"]],
                f"{row['requests']:,}",
                f"{row['file_bytes'] / 1e6:,.1f}",
                f"{row['reading']['wall_s']:.2f}",
                f"{row['requests'] / row['reading']['wall_s']:,.0f}",
                f"{row['peak_memory_mib']:,}",
            ]
            for row in rows
        ],
    )


def _start_up(measured: dict[str, Any]) -> str:
    return START_UP.format(
        imports=f"{median(measured['import_s']):.2f} s",
        requests=measured["requests"],
        policy=measured["policy"],
        cold=f"{measured['cold_s']:.1f} s",
        cached=f"{median(measured['cached_s']):.1f} s",
    )


def _ordering(document: dict[str, Any]) -> Iterator[str]:
    rows = document["costs"]
    steps = rows[0]["steps"]
    yield ORDERING_TEXT.format(
        vllm=document["vllm"],
        date=document["date"],
        processor=document["processor"],
        speed=_speed(document["python_loop_ms"]),
        steps=steps,
    )
    yield table(
        [
            "policy",
            "waiting",
            "admitted a step",
            "ordering, ms (p90)",
            "added to a step, ms (p90)",
            "re-walking, ms",
            "times cheaper",
        ],
        [
            [
                row["policy"],
                f"{row['waiting']:,}",
                f"{row['admitted']:.1f}",
                *(
                    f"{row[f'{name}_us'] / 1000:.3f} ({row[f'{name}_p90_us'] / 1000:.3f})"
                    for name in ("order", "added")
                ),
                f"{row['walk_us'] / 1000:,.1f}",
                f"{row['walk_per_order']:,}",
            ]
            for row in rows
        ],
    )


def results(folder: Path) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Read the results in a folder: of replays, and of the ordering where that was measured."""
    ordering = folder / "ordering.json"
    return read(folder / "replay.json"), read(ordering) if ordering.exists() else None


def read(path: Path) -> dict[str, Any]:
    """Read a file of results; InputError if it is missing, no JSON, or edited since it was written."""
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"the results cannot be read ({error})", remedy="run 'make bench'", file=path) from error
    if "seal" in document and not is_sealed(document):
        raise InputError("the results were edited", remedy="run 'make bench'", file=path)
    return document


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the benchmarks' page and figure from their results.")
    parser.add_argument("--folder", type=Path, help="of results that are not kept; page and figure go there as well")
    folder = parser.parse_args().folder
    places = Places(folder, folder / "README.md", folder / "benchmarks.svg") if folder else KEPT
    document, ordering = results(places.results)
    write_text(places.page, page(document, ordering, places))
    plot(document, ordering, places.figure.with_suffix(".pdf"), places.figure)
    return 0


if __name__ == "__main__":
    run(main)

"""Readers of public traces, one a format: rows as their file states them.

Sources: Mooncake (kvcache-ai/Mooncake, FAST25-release), Bailian (alibaba-edu/qwen-bailian-usagetraces-anon), Azure LLM
inference traces (Azure/AzurePublicDataset) and BurstGPT (HPMLL/BurstGPT). The last two say nothing of shared prefixes.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from fairway.traces.columns import Layout, check_blocks
from fairway.traces.numbered_lines import numbered_lines
from fairway.traces.row import LARGEST_ARRIVAL_NS, MILLISECONDS, SECONDS, Place, Row, Unit, decoded, parse_row

Rows = Iterator[tuple[Place, Row]]
NS_PER_S = SECONDS.ns
NS_DIGITS = 9
_AZURE_TIME = re.compile(r"(\d{4})-(\d{2})-(\d{2})[ T](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:Z|\+00:00)?", re.ASCII)
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
_SECONDS = re.compile(r"\d{1,18}(?:\.\d*)?(?:[eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True)
class PublicFormat:
    """A format: how to read it, what its times are counted in, and how many tokens a block id stands for, if any."""

    read: Callable[[Path], Rows]
    time_unit: str
    block_tokens: int | None


def mooncake_rows(path: Path) -> Rows:
    """Read Mooncake's JSON lines: milliseconds, ids of 512 tokens."""
    return _json_rows(path, MILLISECONDS, 512)


def bailian_rows(path: Path) -> Rows:
    """Read Bailian's JSON lines: seconds, ids of 16 tokens."""
    return _json_rows(path, SECONDS, 16)


def azure_rows(path: Path) -> Rows:
    """Read Azure's CSV: date and time with up to nine decimals, in UTC."""
    return _csv_rows(path, "TIMESTAMP", _azure_ns, "ContextTokens", "GeneratedTokens")


def burstgpt_rows(path: Path) -> Rows:
    """Read BurstGPT's CSV: seconds; equal ones mean one after another within the second."""
    return _csv_rows(path, "Timestamp", _seconds_ns, "Request tokens", "Response tokens")


FORMATS = {
    "mooncake": PublicFormat(mooncake_rows, MILLISECONDS.name, 512),
    "bailian": PublicFormat(bailian_rows, SECONDS.name, 16),
    "azure": PublicFormat(azure_rows, "date and time", None),
    "burstgpt": PublicFormat(burstgpt_rows, SECONDS.name, None),
}


def _json_rows(path: Path, unit: Unit, block_tokens: int) -> Rows:
    layout = Layout(block_tokens, full_blocks_only=False)
    for place, line in numbered_lines(path):
        row = parse_row(line, place, unit, least_tokens=0)
        check_blocks(row, layout, place)
        yield place, row


def _csv_rows(path: Path, time: str, time_ns: Callable[[str, Place], int], prompt: str, output: str) -> Rows:
    wanted = [time, prompt, output]
    names: list[str] = []
    for place, line in numbered_lines(path):
        cells = _cells(line, place)
        if not names:
            names = _header(cells, wanted, place)
        elif len(cells) != len(names):
            place.refuse(
                f"the line has {len(cells)} cells, the first one {len(names)}",
                "it may be cut off, or a number written with a comma: mend it or fetch the file again",
            )
        else:
            time_text, prompt_text, output_text = (cells[names.index(name)] for name in wanted)
            tokens = (_tokens(prompt_text, prompt, place), _tokens(output_text, output, place))
            yield place, Row(time_ns(time_text, place), *tokens, [], "", "")


def _header(cells: list[str], wanted: list[str], place: Place) -> list[str]:
    """Return the names of the columns, among which each of ``wanted`` must stand once."""
    for name in wanted:
        if cells.count(name) != 1:
            problem = "is missing" if name not in cells else "stands twice"
            place.refuse(f"column {name!r} {problem}", f"the first line must name {', '.join(wanted)}, each once")
    return cells


def _cells(line: bytes, place: Place) -> list[str]:
    try:
        cells = next(csv.reader([decoded(line, place)], strict=True), [])
    except csv.Error as error:
        place.refuse(f"the line is not CSV ({error})", "fetch the file again")
    if not cells:
        place.refuse("the line is blank", "delete it, or fetch the file again if it is damaged")
    return [cell.strip() for cell in cells]


def _tokens(text: str, name: str, place: Place) -> int:
    if not _WHOLE.fullmatch(text):
        place.refuse(f"{name!r} is {text[:40]!r}, not a whole number of tokens", "give the number of tokens")
    return int(text)


def _azure_ns(text: str, place: Place) -> int:
    match = _AZURE_TIME.fullmatch(text)
    whole = _second(*map(int, match.groups()[:6])) if match else None
    if match is None or whole is None:
        place.refuse(f"'TIMESTAMP' is {text[:40]!r}, no time", "write it like 2023-11-16 18:17:03.9799600, in UTC")
    return int(whole.timestamp()) * NS_PER_S + int((match[7] or "").ljust(NS_DIGITS, "0"))


def _second(year: int, month: int, day: int, hour: int, minute: int, second: int) -> datetime | None:
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:  # such as a 30th of February
        return None


def _seconds_ns(text: str, place: Place) -> int:
    seconds = Decimal(text) if _SECONDS.fullmatch(text) else None
    if seconds is None or seconds > LARGEST_ARRIVAL_NS // NS_PER_S:
        place.refuse(f"'Timestamp' is {text[:40]!r}, no time", "give seconds since the trace began")
    return int((seconds * NS_PER_S).to_integral_value())

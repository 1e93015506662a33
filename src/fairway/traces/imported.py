"""Public traces made into ours: every row judged, those that can be served in Mooncake's format."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairway.errors import InputError
from fairway.traces.columns import Columns, Layout
from fairway.traces.public_formats import FORMATS
from fairway.traces.row import LARGEST_ARRIVAL_NS, NS_PER_US, Place, Row
from fairway.traces.screening import EXCLUDED, ScreeningRule, Verdict, counts
from fairway.traces.ticks import tick_ns
from fairway.traces.trace import Trace

OWN_BLOCK_TOKENS = 512  # of ids that nobody shares


@dataclass(frozen=True)
class Imported:
    """The requests that can be served, and the verdict on every line."""

    trace: Trace
    verdicts: Mapping[int, Verdict]  # by line

    def verdict_table(self) -> str:
        """Return the verdicts as CSV."""
        lines = [f"{line},{verdict.verdict},{verdict.reason}" for line, verdict in self.verdicts.items()]
        return "\n".join(["line,verdict,reason", *lines]) + "\n"


def import_trace(path: Path, format_name: str, rule: ScreeningRule) -> Imported:
    """Read a public trace; its first row arrives at 0, whatever the verdict on it.

    Times are rounded down to the microsecond that trace files have, and the header says how many requests that puts
    on the time of the one before (``rounded_together``). If times are quantised it says so too (``tick_ns``), and they
    are left as they are. Where the format says nothing of prefixes, each
    request gets ids of its own and the header says ``reuse_information: false``: what a policy does with hits cannot
    be asked of such a trace.

    Raises:
        InputError: the file cannot be read, is empty or another kind of file, a row is wrong (with its line), or none
            is left.
    """
    public = FORMATS[format_name]
    judged = _Judged(rule, public.block_tokens)
    for place, row in public.read(path):
        judged.add(row, place)
    if not judged.columns.kind:
        why = "" if judged.verdicts else ": it is empty"
        raise InputError(
            f"no request of the trace can be served{why}", remedy="check the file and the limits", file=path
        )
    header = {
        "time_unit": public.time_unit,
        "tick_ns": tick_ns(np.array(judged.columns.arrival_ns)),
        "corpus_kind": f"public trace ({format_name})",
        "reuse_information": public.block_tokens is not None,
        **({"rounded_together": judged.rounded_together} if judged.rounded_together else {}),
        "screening": {"rule": dataclasses.asdict(rule), "counts": counts(judged.verdicts.values())},
    }
    trace = judged.columns.trace(judged.layout, header, start_ns=0)
    return Imported(trace, {line: verdict for line, (_, verdict) in judged.verdicts.items()})


class _Judged:
    """The rows read so far: a verdict on each, and the columns of those that can be served."""

    def __init__(self, rule: ScreeningRule, block_tokens: int | None) -> None:
        self.layout = Layout(block_tokens or OWN_BLOCK_TOKENS, full_blocks_only=False)
        self.columns = Columns()
        self.verdicts: dict[int, tuple[int, Verdict]] = {}  # line -> prompt tokens, verdict
        self.rounded_together = 0
        self._rule = rule
        self._has_ids = block_tokens is not None
        self._start_ns: int | None = None
        self._last_ns = 0
        self._served_ns: int | None = None  # the last one's that is kept, before it is rounded
        self._unused_id = 0

    def add(self, row: Row, place: Place) -> None:
        """Judge a row, and keep it if it can be served."""
        if self._start_ns is None:
            self._start_ns = self._last_ns = row.arrival_ns
        if row.arrival_ns < self._last_ns:
            place.refuse("the time is earlier than the line before", "sort the lines by time, keeping ties as is")
        self._last_ns = row.arrival_ns
        if row.arrival_ns - self._start_ns > LARGEST_ARRIVAL_NS:
            place.refuse("the time is centuries after the first one", "check the times, and that the format is right")
        verdict = self._rule.verdict(row)
        self.verdicts[place.line] = (row.prompt_tokens, verdict)
        if verdict.verdict == EXCLUDED:
            return
        arrival_ns = row.arrival_ns - self._start_ns
        earlier_ns, self._served_ns = self._served_ns, arrival_ns
        if earlier_ns is not None and earlier_ns < arrival_ns and earlier_ns // NS_PER_US == arrival_ns // NS_PER_US:
            self.rounded_together += 1
        served = row._replace(
            arrival_ns=arrival_ns // NS_PER_US * NS_PER_US,
            output_tokens=verdict.output_tokens,
            block_ids=row.block_ids if self._has_ids else self._own_ids(row.prompt_tokens),
        )
        self.columns.add(served, self.layout, place)

    def _own_ids(self, prompt_tokens: int) -> list[int]:
        """Return ids that no other request has."""
        first = self._unused_id
        self._unused_id += -(-prompt_tokens // OWN_BLOCK_TOKENS)
        return list(range(first, self._unused_id))

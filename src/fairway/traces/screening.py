"""One verdict for each row of a public trace, by one rule for every policy and engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from fairway.traces.row import Row

SERVED, EXCLUDED, TRUNCATED = "served", "excluded", "truncated"


class Verdict(NamedTuple):
    """What becomes of a row, why (nothing for a row that is served as it is), and how much it may answer."""

    verdict: str
    reason: str
    output_tokens: int


@dataclass(frozen=True)
class ScreeningRule:
    """What an engine can serve.

    An empty prompt is excluded, and so is one that leaves no room for a token of output. An answer that does not fit
    behind its prompt is truncated. A row without output is a request that failed at its source: excluded, or served as
    a prefill alone.
    """

    max_model_tokens: int | None = None  # of prompt and output together (max_model_len); None for no limit
    failures_as_prefill: bool = False

    def verdict(self, row: Row) -> Verdict:
        """Judge one row."""
        if row.prompt_tokens == 0:
            return Verdict(EXCLUDED, "empty prompt", 0)
        if self.max_model_tokens is not None and row.prompt_tokens >= self.max_model_tokens:
            return Verdict(EXCLUDED, f"prompt leaves no room for output in {self.max_model_tokens} tokens", 0)
        if row.output_tokens == 0 and not self.failures_as_prefill:
            return Verdict(EXCLUDED, "no output at the source: a failed request", 0)
        if row.output_tokens == 0:
            return Verdict(SERVED, "no output at the source: prefill alone", 1)
        room_tokens = row.output_tokens if self.max_model_tokens is None else self.max_model_tokens - row.prompt_tokens
        if row.output_tokens > room_tokens:
            return Verdict(TRUNCATED, f"output cut to fit {self.max_model_tokens} tokens", room_tokens)
        return Verdict(SERVED, "", row.output_tokens)


def counts(rows: Iterable[tuple[int, Verdict]]) -> dict[str, Any]:
    """Summarise verdicts, each with its row's prompt tokens: requests and prompt tokens by verdict and reason."""
    requests: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for prompt_tokens, verdict in rows:
        label = f"{verdict.verdict}: {verdict.reason}" if verdict.reason else verdict.verdict
        requests[label] += 1
        tokens[label] += prompt_tokens
    return {label: {"requests": requests[label], "prompt_tokens": tokens[label]} for label in sorted(requests)}

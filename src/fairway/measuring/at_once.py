"""How fast a server's steps are while it has requests to take in as well: HTTP and the client work beside them."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from fairway.profile import Profile
from fairway.serving.at_once import makespan_ms
from fairway.serving.server import RunningServer

_REQUESTS = 64
_TOKENS = 768
_REPEATS = 3
_NS_PER_MS = 1e6


def slowness_at_once(server: RunningServer, profile: Profile, overhead_ms: float) -> float:
    """Return how long the steps of requests that come all at once take over what the profile says, the median of three.

    ``overhead_ms`` is what a lone request takes beyond its steps. The requests' blocks stay in the cache.

    Raises:
        InputError: an answer failed.
    """
    tokens = min(_TOKENS, server.serving.context_tokens - 1)
    chunks = steps(_REQUESTS, tokens, server.serving.limits.budget_tokens)
    said_ms = sum(map(profile.step_ns, chunks)) / _NS_PER_MS
    took_ms = median(makespan_ms(server, _REQUESTS, tokens) for _ in range(_REPEATS))
    return (took_ms - overhead_ms) / said_ms


def steps(requests: int, tokens: int, budget_tokens: int) -> Iterator[list[tuple[int, int]]]:
    """Yield the chunks, (new tokens, context), of each step of requests of so many tokens, served one after another."""
    end = requests * tokens
    for first in range(0, end, budget_tokens):
        last = min(first + budget_tokens, end)
        chunks = []
        for begin in range(first - first % tokens, last, tokens):  # where each request of this step begins
            done = min(begin + tokens, last)
            chunks.append((done - max(begin, first), done - begin))
        yield chunks

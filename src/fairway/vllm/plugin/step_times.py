"""How long an engine's steps take, beside what the profile says of the same steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from time import perf_counter_ns
from typing import Any

from fairway.profile import Profile


class StepTimes:
    """One scheduler's. A step lasts from its scheduling, or the end of the one before it, until its tokens are in.

    So its time is the profile's, which is that of one step alone, whether vLLM schedules the next one before or after
    the tokens. Steps without tokens are left out.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._begun_ns: deque[int] = deque()  # steps that are scheduled and whose tokens are not in
        self._ended_ns = 0

    def begin(self) -> None:
        """Note that a step is being scheduled."""
        self._begun_ns.append(perf_counter_ns())

    def end(self, output: Any) -> tuple[int, int]:
        """Note that the oldest step's tokens are in; return its time and that by the profile, in ns."""
        begun_ns = max(self._begun_ns.popleft(), self._ended_ns)
        self._ended_ns = perf_counter_ns()
        if not output.total_num_scheduled_tokens:
            return 0, 0
        return self._ended_ns - begun_ns, self._profile.step_ns(chunks_of(output))


def chunks_of(output: Any) -> Iterator[tuple[int, int]]:
    """Yield the chunks of a step of vLLM: new tokens, and the context at their end."""
    tokens, later = output.num_scheduled_tokens, output.scheduled_cached_reqs
    computed = [(one.req_id, one.num_computed_tokens) for one in output.scheduled_new_reqs]
    computed += zip(later.req_ids, later.num_computed_tokens, strict=True)
    for request, computed_tokens in computed:
        yield tokens[request], computed_tokens + tokens[request]

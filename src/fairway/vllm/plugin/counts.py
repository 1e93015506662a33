"""What a scheduler counts of its ordering, and how that travels to the process that serves metrics.

vLLM runs the scheduler and the metrics page in two processes; what connects them is its own `SchedulerStats`, once a
step. Its only open field is a dictionary of whole numbers by name, in which ours ride along under names of our own
until the receiver takes them out again.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Self

_PREFIX = "fairway."
_ORDER = f"{_PREFIX}order_ns."
_WHOLE = (
    *("overtaken_tokens", "fallbacks", "disagreements", "most_uncached_tokens", "least_uncached_tokens"),
    *("step_ns", "profile_ns"),
)


@dataclass
class Counts:
    """Since the last report: times to order in ns, one a step that ordered, and sums over those steps.

    The uncached tokens are the largest and the smallest of the queue when that was last looked at, 0 if it was not;
    ``step_ns`` is the time of the steps, ``profile_ns`` what the profile says of them, where steps are timed.
    """

    order_ns: list[int] = field(default_factory=list)
    overtaken_tokens: int = 0
    fallbacks: int = 0
    disagreements: int = 0
    most_uncached_tokens: int = 0
    least_uncached_tokens: int = 0
    step_ns: int = 0
    profile_ns: int = 0

    def add_step(self, step_ns: int, profile_ns: int) -> None:
        """Count a step that was timed."""
        self.step_ns += step_ns
        self.profile_ns += profile_ns

    def put_into(self, carrier: MutableMapping[str, int]) -> None:
        """Write these counts to a carrier."""
        carrier.update({f"{_ORDER}{index}": value for index, value in enumerate(self.order_ns)})
        carrier.update({f"{_PREFIX}{name}": value for name in _WHOLE if (value := getattr(self, name))})

    @classmethod
    def taken_from(cls, carrier: MutableMapping[str, int]) -> Self:
        """Return what a carrier brings, and leave nothing of it there."""
        ours = {name: carrier.pop(name) for name in list(carrier) if name.startswith(_PREFIX)}
        times = [value for name, value in ours.items() if name.startswith(_ORDER)]
        return cls(times, **{name: ours.get(f"{_PREFIX}{name}", 0) for name in _WHOLE})

"""The time by which requests wait: vLLM stamps arrivals with the wall clock, which may be set while they wait."""

from __future__ import annotations

from time import time_ns


class SteadyClock:
    """The wall clock, except that it never goes back: set back, it goes on from where it was."""

    def __init__(self) -> None:
        self._latest_ns = 0
        self._ahead_ns = 0  # of the wall clock, by as much as that was set back

    def now_ns(self) -> int:
        """Return the time now."""
        now_ns = time_ns() + self._ahead_ns
        if now_ns < self._latest_ns:
            self._ahead_ns += self._latest_ns - now_ns
            now_ns = self._latest_ns
        self._latest_ns = now_ns
        return now_ns

    def since_ns(self, stamp_ns: int) -> int:
        """Return the time of a stamp that the wall clock just gave; never one after the latest `now_ns`."""
        return min(stamp_ns + self._ahead_ns, self._latest_ns)

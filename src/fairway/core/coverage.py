"""What the core covers, and by name what it does not."""

from __future__ import annotations

from fairway.engine import EVENTS, Limits
from fairway.policies import Policy
from fairway.traces import Trace


def not_covered(trace: Trace, policy: Policy, limits: Limits) -> str | None:
    """Return why the core cannot replay this, or None if it can."""
    if (trace.output_tokens > 1).any():
        return "requests that ask for more than one output token"
    if limits.eviction != "lru":
        return f"eviction {limits.eviction!r}"
    lacking = sorted(capability.value for capability in policy.capabilities - EVENTS)
    if lacking:
        return f"policy {policy.name!r}, which needs {', '.join(lacking)}"
    return None

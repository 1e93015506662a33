"""What the core covers, and by name what it does not."""

from __future__ import annotations

from fairway.engine import EVENTS, Limits
from fairway.policies import Capability, Policy
from fairway.traces import Trace

EVICTIONS = ("lru", "pgdsf")


def not_covered(trace: Trace, policy: Policy, limits: Limits) -> str | None:
    """Return why the core cannot replay this, or None if it can."""
    if (trace.output_tokens > 1).any():
        return "requests that ask for more than one output token"
    if limits.eviction not in EVICTIONS:
        return f"eviction {limits.eviction!r}"
    spares = Capability.VICTIM_RANK in policy.capabilities
    if spares and limits.eviction != "lru":
        return f"eviction {limits.eviction!r} under policy {policy.name!r}, which says itself what is evicted"
    lacking = sorted(capability.value for capability in policy.capabilities - EVENTS - {Capability.VICTIM_RANK})
    if lacking:
        return f"policy {policy.name!r}, which needs {', '.join(lacking)}"
    return None

"""The claims that are properties: checked by running them, reported by claim."""

from __future__ import annotations

from typing import Any

from fairway.exact.bound import count_violations
from fairway.exact.golden import EXAMPLES


def exact_claims(queues: int, seed: int) -> dict[str, dict[str, Any]]:
    """Return, by claim, whether it holds, in how many cases, and what was found."""
    failed = [example.name for example in EXAMPLES if not example.holds]
    violations = count_violations(queues, seed)
    return {
        "overtaking-bound": {
            "holds": violations == 0,
            "cases": queues,
            "detail": f"{violations} violations in {queues:,} random queues, seed {seed}",
        },
        "score-identities": {
            "holds": not failed,
            "cases": len(EXAMPLES),
            "detail": f"{len(EXAMPLES) - len(failed)} of {len(EXAMPLES)} worked examples"
            + (f"; failed: {'; '.join(failed)}" if failed else ""),
        },
    }

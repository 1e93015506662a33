"""A profile's prefill times at a few lengths, for people to look at."""

from __future__ import annotations

from fairway.profile.step_time import Profile

LENGTHS = (300, 1024, 2048, 4096, 8192, 16384)
CACHED_SHARES = (0.0, 0.5)
NS_PER_S = 1_000_000_000


def prefill_preview(profile: Profile, budget_tokens: int) -> list[dict[str, int | float]]:
    """Return rows of n, h and ``T(n, h)`` in seconds: nothing cached, and half the prompt cached."""
    return [
        {
            "n_tokens": n_tokens,
            "hit_tokens": int(share * n_tokens),
            "prefill_s": profile.prefill_ns(n_tokens, int(share * n_tokens), budget_tokens) / NS_PER_S,
        }
        for share in CACHED_SHARES
        for n_tokens in LENGTHS
    ]

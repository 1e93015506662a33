"""What tables call a corpus."""

from __future__ import annotations

STANDS_IN = "embedded (real data could not be had)"


def real_kind(tokenizer: str) -> str:
    """Return what tables call a real corpus: another tokenizer changes every length."""
    return f"real ({tokenizer})"

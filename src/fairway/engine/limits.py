"""What bounds an engine, under the names of vLLM's flags."""

from __future__ import annotations

from dataclasses import dataclass

from fairway.errors import InputError

EVICTIONS = ("lru", "pgdsf")


@dataclass(frozen=True)
class Limits:
    """Sizes of one engine instance, and which cached blocks it gives up first."""

    cache_blocks: int  # --num-gpu-blocks-override; one of them is the null block
    budget_tokens: int = 2048  # --max-num-batched-tokens, of a step
    max_num_seqs: int = 256  # --max-num-seqs, running at once
    block_tokens: int = 16  # --block-size
    eviction: str = "lru"  # vLLM knows the first only

    @property
    def usable_tokens(self) -> int:
        """How many tokens the cache holds; the null block holds none."""
        return (self.cache_blocks - 1) * self.block_tokens

    def __post_init__(self) -> None:
        for name, least in (("cache_blocks", 2), ("budget_tokens", 1), ("max_num_seqs", 1), ("block_tokens", 1)):
            value = getattr(self, name)
            if value < least:
                raise InputError(f"{name} is {value}", remedy=f"give at least {least}")
        refuse_unknown_eviction(self.eviction)


def refuse_unknown_eviction(eviction: str) -> None:
    """Raise `InputError` with the known ones if no cache evicts like this."""
    if eviction not in EVICTIONS:
        raise InputError(f"unknown eviction {eviction!r}", remedy=f"choose from {', '.join(EVICTIONS)}")

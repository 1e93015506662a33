"""How much of a waiting request's prompt is cached: by the cheapest way that is exact for the server at hand."""

from __future__ import annotations

from typing import Any, Protocol

from vllm.v1.kv_cache_interface import FullAttentionSpec

from fairway.vllm.probe import CacheProbe


class Hits(Protocol):
    """Looks hits up and changes nothing: no statistics, no events, no order of eviction."""

    def blocks(self, request: Any, before: int) -> int:
        """Return how many blocks of a vLLM request hit now; ``before`` is what that was when last looked at."""

    def head(self, request: Any) -> bytes | None:
        """Return what is equal for prompts that begin with the same 32 tokens, or None where nothing is shared."""


class NoHits:
    """Prefix caching is off."""

    def blocks(self, request: Any, before: int) -> int:
        """Return 0."""
        return 0

    def head(self, request: Any) -> bytes | None:
        """Return None."""
        return None


class ProbedHits:
    """One group of full attention: a hit is followed block by block, at the cost of how far it moved.

    Hashes are the engine's own, so salts, adapters and images count as it counts them.
    """

    def __init__(self, manager: Any) -> None:
        self._manager = manager
        self._probe = CacheProbe(manager.block_pool)

    def blocks(self, request: Any, before: int) -> int:
        """Return the hit by the engine's map from hashes to blocks."""
        if not self._manager.prefix_cache_lookup_enabled(request):  # prompt log-probabilities, for instance
            return 0
        return self._probe.hit_blocks(request, before)

    def head(self, request: Any) -> bytes | None:
        """Return the hash of the first block that ends at 32 tokens or later."""
        return _head(request, self._manager.block_pool.hash_block_size)


class LookedUpHits(ProbedHits):
    """Any other layout of the cache: the engine's own lookup, at the cost of the prompt's length."""

    def blocks(self, request: Any, before: int) -> int:
        """Return the hit by the engine's lookup, without the events that it may send for a request it admits."""
        if not self._manager.prefix_cache_lookup_enabled(request):
            return 0
        _, hit_tokens, _ = self._manager.coordinator.find_longest_cache_hit(
            request.block_hashes, request.num_tokens - 1
        )
        return int(hit_tokens) // int(self._manager.block_pool.hash_block_size)


def hits_of(scheduler: Any) -> Hits:
    """Return the way to look hits up that fits a scheduler's cache."""
    manager = scheduler.kv_cache_manager
    if not manager.enable_caching:
        return NoHits()
    return ProbedHits(manager) if has_plain_blocks(scheduler) else LookedUpHits(manager)


def has_plain_blocks(scheduler: Any) -> bool:
    """Whether the cache is one group of full attention whose hits end at any block."""
    groups = scheduler.kv_cache_config.kv_cache_groups
    return (
        len(groups) == 1
        and type(groups[0].kv_cache_spec) is FullAttentionSpec
        and scheduler.hash_block_size == scheduler.block_size == groups[0].kv_cache_spec.block_size
        and not scheduler.use_eagle
    )


_HEAD_TOKENS = 32


def _head(request: Any, block_tokens: int) -> bytes | None:
    index = -(-_HEAD_TOKENS // block_tokens) - 1
    hashes = request.block_hashes
    return bytes(hashes[index]) if len(hashes) > index else None

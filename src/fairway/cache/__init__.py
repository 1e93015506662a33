"""The prefix cache's blocks."""

from fairway.cache.block_pool import BlockPool

__all__ = ["BlockPool"]

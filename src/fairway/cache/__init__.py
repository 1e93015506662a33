"""The prefix cache's blocks."""

from fairway.cache.block_pool import BlockPool
from fairway.cache.frontier import moved_frontier

__all__ = ["BlockPool", "moved_frontier"]

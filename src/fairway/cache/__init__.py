"""The prefix cache's blocks."""

from fairway.cache.block_pool import BlockPool
from fairway.cache.evicting_pool import EvictingPool
from fairway.cache.eviction import Eviction
from fairway.cache.pgdsf import Pgdsf
from fairway.cache.spared import SparedPrefixes

__all__ = ["BlockPool", "EvictingPool", "Eviction", "Pgdsf", "SparedPrefixes"]

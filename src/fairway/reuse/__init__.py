"""Exact hits of all waiting requests, kept at the cost of the cache's changes."""

from fairway.reuse.index import ReuseIndex
from fairway.reuse.residency import ClosureError

__all__ = ["ClosureError", "ReuseIndex"]

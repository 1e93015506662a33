"""The fast replay: the readable engine's decisions, compiled, on segments of the trace's trie instead of blocks."""

from fairway.core.coverage import not_covered
from fairway.core.prepared import Prepared
from fairway.core.run import Result, run
from fairway.core.trie import build_trie

__all__ = ["Prepared", "Result", "build_trie", "not_covered", "run"]

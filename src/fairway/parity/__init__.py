"""The readable engine and vLLM's scheduler side by side: random cases, every step compared, differences made small."""

from fairway.parity.case import Arrival, Case, read_case, write_case
from fairway.parity.compare import FAILED, UNHOOKED, Comparison, Counts, Difference, compare
from fairway.parity.random_cases import random_case
from fairway.parity.shrink import shrink

__all__ = [
    "FAILED",
    "UNHOOKED",
    "Arrival",
    "Case",
    "Comparison",
    "Counts",
    "Difference",
    "compare",
    "random_case",
    "read_case",
    "shrink",
    "write_case",
]

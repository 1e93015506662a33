"""The readable engine and vLLM's scheduler side by side: random cases, every step compared, differences made small."""

from fairway.vllm.parity.case import Arrival, Case, read_case, write_case
from fairway.vllm.parity.compare import FAILED, UNHOOKED, Comparison, Counts, Difference, compare
from fairway.vllm.parity.random_cases import random_case
from fairway.vllm.parity.shrink import shrink

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

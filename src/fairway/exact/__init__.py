"""What must hold exactly, as code that the tests and the workflow both run."""

from fairway.exact.bound import Overtaking, count_violations, overtaking, random_queue
from fairway.exact.golden import EXAMPLES, Example, miss_before_ten_hits, queue
from fairway.exact.report import exact_claims

__all__ = [
    "EXAMPLES",
    "Example",
    "Overtaking",
    "count_violations",
    "exact_claims",
    "miss_before_ten_hits",
    "overtaking",
    "queue",
    "random_queue",
]

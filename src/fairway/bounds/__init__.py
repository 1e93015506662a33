"""What no order of the waiting queue can beat: the least work and the least time of each request of a trace."""

from fairway.bounds.least_work import LeastWork, least_work
from fairway.bounds.report import bounds_of

__all__ = ["LeastWork", "bounds_of", "least_work"]

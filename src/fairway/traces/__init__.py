"""Traces: their type, file format, corpora, arrivals and workload generators."""

from fairway.traces.chains import chains, head_ids
from fairway.traces.trace import Trace
from fairway.traces.trace_file import read_trace, write_trace

__all__ = ["Trace", "chains", "head_ids", "read_trace", "write_trace"]

"""Fairway: load-aware KV cache reuse for LLM prefill scheduling, as a reproducible artifact."""

__version__ = "0.1.0"

"""vLLM's own scheduler under our policies and our clock, without a model. vLLM is imported on demand only."""

from fairway.vllm.versions import load_engine

__all__ = ["load_engine"]

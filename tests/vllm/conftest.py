"""These tests need vLLM: `make vllm-env` sets it up, and `make test` then runs them with its Python."""

import importlib.util
import os
from collections.abc import Generator
from pathlib import Path

import pytest

from fairway.vllm import load_engine

MISSING = importlib.util.find_spec("vllm") is None
if MISSING:
    # Their imports would fail; test_environment.py stays and is the one that is reported as skipped.
    names = sorted(path.name for path in Path(__file__).parent.glob("test_*.py"))
    collect_ignore = [name for name in names if name != "test_environment.py"]
else:
    load_engine()  # before a test module imports vLLM: it says where vLLM's cache lies


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let nothing be skipped where FAIRWAY_REQUIRE_VLLM is set."""
    report = yield
    if report.skipped and os.environ.get("FAIRWAY_REQUIRE_VLLM"):
        report.outcome = "failed"
    return report

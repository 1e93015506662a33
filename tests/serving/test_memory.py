"""What an engine's process frees is kept: the kernel is not asked for the same memory at every step."""

import os
import subprocess
import sys

import pytest

from fairway.serving.memory import KEEPING_MEMORY

ROUNDS = """
import resource
for _ in range(2):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(8):
        b"x" * (1 << 25)
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(faults)
"""
KEEP = "from fairway.serving.memory import keep_memory\nkeep_memory()\n"
PAGES = 8 * (1 << 25) // 4_096


def faults(code: str, variables: dict[str, str]) -> int:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**environment, **variables}, capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator is Linux's")
def test_memory_is_kept_by_both_ways() -> None:
    assert faults(ROUNDS, {}) > PAGES / 2, "each piece comes from the kernel, or this test says nothing"
    assert faults(KEEP + ROUNDS, {}) < PAGES / 100
    assert faults(ROUNDS, KEEPING_MEMORY) < PAGES / 100

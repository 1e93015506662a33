"""What several test folders share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the repository's folder."""
    return ROOT


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Return the folder of downloaded public data; without it the test is skipped."""
    folder = os.environ.get("FAIRWAY_REAL_DATA")
    if not folder:
        pytest.skip("FAIRWAY_REAL_DATA is not set: it names the folder of the public traces and filings")
    return Path(folder)

"""What several test folders share."""

import importlib
import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

if find_spec("hypothesis"):  # the environment of the vLLM tests has none
    from hypothesis import settings

    # The same examples in every run, and no time limit on one: a slow machine must not fail a test.
    settings.register_profile("fairway", deadline=None, derandomize=True)
    settings.load_profile("fairway")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".numba"))  # one for all processes of all tests


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


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Give the machine's own Chromium; without one the test is skipped, or fails under FAIRWAY_REQUIRE_BROWSER."""
    end = pytest.fail if os.environ.get("FAIRWAY_REQUIRE_BROWSER") else pytest.skip
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if found is None:
        end(f"no browser here: one of {', '.join(BROWSERS)} is needed")
    try:
        playwright = importlib.import_module("playwright.sync_api")
    except ModuleNotFoundError:
        end("playwright, which drives the browser, is not installed")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield running
        running.close()

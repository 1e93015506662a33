"""A headless Chromium that opens a file and tells what it saw: the page as it became, what was logged and asked for."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # the tests may run as root, and open nothing but files of their own
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--virtual-time-budget=10000",
    "--enable-logging=stderr",
    "--dump-dom",
)
_CONSOLE = re.compile(r"\[[^\]]*:(INFO|WARNING|ERROR):CONSOLE[^\]]*\] (.*)")


@dataclass(frozen=True)
class Visit:
    """What became of a page."""

    dom: str
    errors: tuple[str, ...]  # of the console
    requests: tuple[str, ...]  # addresses that the page asked the network for


def visit(page: Path, folder: Path) -> Visit:
    """Open a page; the test is skipped where there is no Chromium."""
    browser = next(filter(None, map(shutil.which, _NAMES)), None)
    if browser is None:
        pytest.skip(f"no browser: none of {', '.join(_NAMES)} is installed")
    log = folder / "net.json"
    options = [*_OPTIONS, f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}"]
    done = subprocess.run(
        [browser, *options, page.resolve().as_uri()],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        timeout=120,
    )
    logged = _CONSOLE.findall(done.stderr)
    return Visit(done.stdout, tuple(text for level, text in logged if level == "ERROR" or "Error" in text), _asked(log))


def _asked(log: Path) -> tuple[str, ...]:
    """Return the addresses that the page itself asked for; the browser asks for some on its own behalf."""
    found = [event.get("params", {}) for event in json.loads(log.read_text(encoding="utf-8"))["events"]]
    return tuple(one["url"] for one in found if str(one.get("network_isolation_key", "")).startswith("file:"))

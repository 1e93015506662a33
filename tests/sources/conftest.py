"""A mirror of EDGAR for each test that asks for one."""

import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.sources.mirror import Mirror, serve


@pytest.fixture
def start_mirror() -> Iterator[Callable[[Path], Mirror]]:
    servers = []

    def start(folder: Path) -> Mirror:
        mirror, server = serve(folder)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        servers.append(server)
        return mirror

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def own_pace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the pace of a test's mirror out of the machine's folder for temporary files."""
    folder = tmp_path / "pace"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(folder))

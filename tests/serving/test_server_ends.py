"""A server does not outlive the process that started it: on a card it would keep the memory."""

import signal
import subprocess
import sys
import time

import psutil
import pytest

PARENT = """
import subprocess, sys, time
from fairway.serving.server import end_with_parent
child = subprocess.Popen(
    [sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True, preexec_fn=end_with_parent
)
print(child.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_its_parent_however_that_ends(kind):
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        server = psutil.Process(int(parent.stdout.readline()))
        parent.send_signal(kind)
        parent.wait()
        until = time.monotonic() + 20
        while server.is_running() and server.status() != psutil.STATUS_ZOMBIE and time.monotonic() < until:
            time.sleep(0.05)
        assert not server.is_running() or server.status() == psutil.STATUS_ZOMBIE

"""MuSiQue through the Hugging Face hub's own protocol: `datasets` asks a stand-in for the hub on this machine."""

import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytest.importorskip("datasets")
NAME, COMMIT, QUESTIONS = "someone/questions", "c0ffee" * 6 + "abcd", "musique_ans_v1.0_train.jsonl"
READ = """
import json, sys
from fairway.sources.musique import read_question_source
from fairway.sources.settings import QuestionSource
texts, origin = read_question_source(QuestionSource(sys.argv[1], "train", None, int(sys.argv[2]), 1))
print(json.dumps([len(texts.questions), texts.paragraphs, origin]))
"""


@dataclass
class Hub:
    """A hub with one data set of one commit, and what it was asked."""

    files: dict[str, bytes]
    address: str = ""
    asked: list[str] = field(default_factory=list)

    def answer(self, path: str) -> tuple[bytes, dict[str, str]] | None:
        """Return the body and the headers of an address, or None where there is nothing."""
        api, resolve = f"/api/datasets/{NAME}", f"/datasets/{NAME}/resolve/"
        if path.startswith(f"{api}/tree/"):
            listed = [{"type": "file", "path": n, "size": len(c), "oid": _oid(c)} for n, c in self.files.items()]
            return json.dumps(listed).encode(), {}
        if path == api or path.startswith(f"{api}/revision/"):
            siblings = [{"rfilename": name} for name in self.files]
            about = {"id": NAME, "sha": COMMIT, "private": False, "disabled": False, "gated": False, "tags": []}
            return json.dumps({**about, "downloads": 0, "likes": 0, "siblings": siblings}).encode(), {}
        if path.startswith(resolve):
            _, _, name = path.removeprefix(resolve).partition("/")
            content = self.files.get(name)
            if content is not None:
                return content, {"ETag": f'"{_oid(content)}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        return None


def _oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append(f"{self.command} {path}")
        found = self.hub.answer(path)
        missing = b"{}", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT}
        body, headers = missing if found is None else found
        self.send_response(404 if found is None else 200)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def hub() -> Iterator[Hub]:
    rows = [
        {"id": f"q{n}", "question": f"Who is {n}?", "paragraphs": [{"idx": 0, "title": "A", "paragraph_text": "B."}]}
        for n in range(5)
    ]
    made = Hub({QUESTIONS: "".join(json.dumps(row) + "\n" for row in rows).encode()})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("HubHandler", (Handler,), {"hub": made}))
    made.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield made
    server.shutdown()
    server.server_close()


def read(hub: Hub, home: Path, count: int, **more: str) -> subprocess.CompletedProcess[str]:
    """Read questions in a process of its own: the hub's client takes its address and cache from the environment."""
    given = {"HF_ENDPOINT": hub.address, "HF_HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path), **more}
    return subprocess.run(
        [sys.executable, "-c", READ, NAME, str(count)],
        env=os.environ | given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_questions_come_from_the_hub_once_and_offline_from_its_cache(hub: Hub, tmp_path: Path) -> None:
    first = read(hub, tmp_path, 2)
    assert first.returncode == 0, first.stderr
    questions, paragraphs, origin = json.loads(first.stdout.splitlines()[-1])
    assert (questions, paragraphs) == (2, ["A\nB.\n\n"])
    assert origin.startswith(f"{NAME}, split train, fingerprint ")
    fetched = f"GET /datasets/{NAME}/resolve/{COMMIT}/{QUESTIONS}"
    assert hub.asked.count(fetched) == 1
    so_far = len(hub.asked)
    offline = read(hub, tmp_path, 2, HF_HUB_OFFLINE="1")
    assert offline.returncode == 0, offline.stderr
    assert json.loads(offline.stdout.splitlines()[-1]) == json.loads(first.stdout.splitlines()[-1])
    assert len(hub.asked) == so_far, "offline nothing is asked"


def test_what_the_hub_has_is_held_against_the_schema_and_the_count(hub: Hub, tmp_path: Path) -> None:
    few = read(hub, tmp_path / "few", 6)
    assert few.returncode != 0 and "the set has 5 questions, 6 are asked for" in few.stderr
    hub.files[QUESTIONS] = b'{"question": "Who?", "text": "no paragraphs"}\n' * 3
    other = read(hub, tmp_path / "other", 2)
    assert other.returncode != 0 and "the line has no question with paragraphs" in other.stderr

"""A mirror of EDGAR here, with faults to switch on. By hand: `python tests/sources/mirror.py DIR PORT`."""

import gzip
import http.server
import json
import signal
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FAULTS = {
    *("403", "429", "500", "cut", "slow", "silent", "changed", "gzip", "block page", "redirect"),
    *("no address", "cut gzip", "no gzip", "brotli"),
}
BLOCK_PAGE = b"<html><head><title>SEC.gov | Request Rate Threshold Exceeded</title></head><body>blocked</body></html>"


@dataclass
class Mirror:
    """What the server serves, what it saw, and which faults it shows to the next requests."""

    folder: Path
    seen: list[tuple[float, str, str]] = field(default_factory=list)  # time by this clock, path, user agent
    fault: str = ""
    faulty: int = 0  # so many requests for documents
    retry_after: str = "1"
    location: str = ""
    address: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def show(self, fault: str, requests: int = 10_000) -> None:
        """Show a fault to the next requests for documents."""
        assert fault in FAULTS
        self.fault, self.faulty = fault, requests

    def documents_asked(self) -> list[str]:
        return [path for _, path, _ in self.seen if "/Archives/" in path]

    def most_in_a_second(self) -> int:
        times = sorted(time_s for time_s, _, _ in self.seen)
        return max((sum(start <= other < start + 1 for other in times) for start in times), default=0)

    def note(self, path: str, agent: str) -> str:
        """Note a request, and return the fault that it is to meet."""
        with self.lock:
            self.seen.append((time.monotonic(), path, agent))
            if "/Archives/" in path and self.faulty > 0:
                self.faulty -= 1
                return self.fault
        return ""


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves files; one that lies there as .gz is unpacked."""

    protocol_version = "HTTP/1.1"
    mirror: Mirror

    def do_GET(self) -> None:
        agent = self.headers.get("User-Agent", "")
        fault = self.mirror.note(self.path, agent)
        if ("@" not in agent and "trace" not in self.path) or fault == "403":
            return self.answer(403, b"<html><body>Your request originates from an undeclared tool</body></html>")
        if fault == "429":
            return self.answer(429, b"slower", {"Retry-After": self.mirror.retry_after})
        if fault == "500":
            return self.answer(500, b"sorry")
        if fault == "block page":
            return self.answer(200, BLOCK_PAGE)
        if fault == "redirect":
            return self.answer(302, b"", {"Location": self.path})
        if fault == "no address":
            return self.answer(302, b"", {"Location": self.mirror.location})
        if fault == "silent":
            time.sleep(0.8)
        content = self.content()
        if content is None:
            return self.answer(404, b"no such file")
        if fault == "gzip":
            parts = content[:1000], content[1000:]
            return self.answer(200, b"".join(map(gzip.compress, parts)), {"Content-Encoding": "gzip"})
        if fault == "cut gzip":
            return self.answer(200, gzip.compress(content)[:-200], {"Content-Encoding": "gzip"})
        if fault in ("no gzip", "brotli"):
            return self.answer(200, content, {"Content-Encoding": "gzip" if fault == "no gzip" else "br"})
        if fault == "changed":
            return self.answer(200, content.replace(b"2023", b"2024"))
        if fault == "cut":
            return self.answer(200, content, sent=content[: len(content) // 2])
        if fault == "slow":
            return self.answer(200, content, piece_s=0.1)
        return self.answer(200, content)

    def content(self) -> bytes | None:
        file = self.mirror.folder / self.path.lstrip("/")
        if file.is_file():
            return file.read_bytes()
        packed = file.with_name(file.name + ".gz")
        return gzip.decompress(packed.read_bytes()) if packed.is_file() else None

    def answer(
        self,
        status: int,
        content: bytes,
        headers: dict[str, str] | None = None,
        sent: bytes | None = None,
        piece_s: float = 0.0,
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        body = content if sent is None else sent
        size = len(body) if piece_s == 0 else max(1, len(body) // 20)
        for start in range(0, len(body), size or 1):
            self.wfile.write(body[start : start + size])
            time.sleep(piece_s)
        if sent is not None:
            self.close_connection = True

    def log_message(self, *_: Any) -> None: ...


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None: ...  # a client that hangs up is part of the tests


def serve(folder: Path, port: int = 0) -> tuple[Mirror, Server]:
    mirror = Mirror(folder)
    server = Server(("127.0.0.1", port), type("MirrorHandler", (Handler,), {"mirror": mirror}))
    mirror.address = f"http://127.0.0.1:{server.server_port}"
    return mirror, server


if __name__ == "__main__":
    try:
        made, by_hand = serve(Path(sys.argv[1]), int(sys.argv[2]))
    except OSError as error:
        sys.exit(f"error: port {sys.argv[2]}: {error.strerror}. Remedy: give another port, or stop what uses it.")
    print(json.dumps({"address": made.address}), flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        by_hand.serve_forever()
    except KeyboardInterrupt:
        print(f"{len(made.seen)} requests, at most {made.most_in_a_second()} in a second")

"""Files from web services: paced, tried again where that may help, stopped where it cannot."""

from __future__ import annotations

import email.utils
import os
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import NoReturn
from urllib.parse import urljoin, urlsplit

import requests
import urllib3

from fairway.errors import InputError
from fairway.files import atomic_path, sha256
from fairway.sources.pace import Pace

CHUNK_BYTES = 1 << 16
MOST_REDIRECTS = 5
LONGEST_PAUSE_S = 600.0
MOST = 86_400  # seconds, or requests a second
MOST_ATTEMPTS = 20
# What EDGAR's pages of refusal say; they may come with status 200. They are small, documents begin otherwise.
REFUSALS = (b"Request Rate Threshold Exceeded", b"Undeclared Automated Tool")
REFUSAL_BYTES = 8192
NETWORK_REMEDY = (
    "check the network; behind a proxy set HTTPS_PROXY, and SSL_CERT_FILE or REQUESTS_CA_BUNDLE for its certificate"
)


@dataclass(frozen=True)
class Manners:
    """How a service is asked."""

    agent: str  # the User-Agent
    requests_per_s: float  # over all processes on this machine
    timeout_s: float  # to connect, and between two parts of an answer
    deadline_s: float  # for a whole answer
    attempts: int
    backoff_s: float  # before the second attempt; doubled for each further one

    def __post_init__(self) -> None:
        if not all(0 < value <= MOST for value in (self.requests_per_s, self.timeout_s, self.deadline_s)):
            raise ValueError(f"rate, timeout and deadline must be above 0 and at most {MOST}")
        if not (0 <= self.backoff_s <= LONGEST_PAUSE_S and 1 <= self.attempts <= MOST_ATTEMPTS):
            raise ValueError(
                f"backoff_s must be from 0 to {LONGEST_PAUSE_S:g}, attempts from 1 to {MOST_ATTEMPTS} "
                "(each waits twice as long as the one before)"
            )


class _PassingError(Exception):
    """A fault that may pass; ``pause_s`` is how long the service asked to wait, if it did."""

    def __init__(self, fault: str, pause_s: float | None = None) -> None:
        super().__init__(fault)
        self.pause_s = pause_s


class Web:
    """A client of one service."""

    def __init__(self, service: str, manners: Manners) -> None:
        self._manners = manners
        self._pace = Pace(service, manners.agent, manners.requests_per_s)
        self._session = requests.Session()
        self._session.headers.update({"User-Agent": manners.agent, "Accept-Encoding": "gzip"})
        # REQUESTS_CA_BUNDLE goes before; what other tools go by is unknown to requests.
        self._session.verify = os.environ.get("SSL_CERT_FILE") or True

    def fetch(self, url: str, target: Path, checksum: str | None = None) -> None:
        """Put what is at ``url`` into ``target``, atomically.

        Raises:
            InputError: the service refuses, has no such file or cannot be reached, or it has another SHA-256 than
                ``checksum``; ``target`` is then as it was.
        """
        with atomic_path(target) as part:
            self._try_often(url, part)
            found = sha256(part)
            if checksum is not None and found != checksum:
                raise InputError(
                    f"{url} has SHA-256 {found}, {checksum} is expected: it is another document, or was changed",
                    remedy="see what changed; the list of checksums is then to be made anew",
                )

    def reach(self, url: str) -> None:
        """See that there is something at ``url``; what it is stays there. Raises as `fetch` does."""
        self._try_often(url, None)

    def _try_often(self, url: str, part: Path | None) -> None:
        for attempt in range(1, self._manners.attempts + 1):
            try:
                return self._try(url, part)
            except _PassingError as fault:
                if attempt == self._manners.attempts:
                    raise InputError(
                        f"{url} could not be fetched in {attempt} attempts, the last time: {fault}",
                        remedy=f"try again later, what is there is kept; {NETWORK_REMEDY}",
                    ) from fault
                if fault.pause_s is not None:
                    self._pace.pause(fault.pause_s)
                else:
                    time.sleep(min(LONGEST_PAUSE_S, self._manners.backoff_s * 2 ** (attempt - 1)))
        return None

    def _try(self, url: str, part: Path | None) -> None:
        try:
            with self._ask(url) as response:
                self._judge(response, url)
                if part is None:
                    return
                with part.open("wb") as file:
                    file.writelines(self._pieces(response))
        except requests.exceptions.SSLError as error:
            raise InputError(
                f"{_host(url)} shows no certificate that is trusted ({error})", remedy=NETWORK_REMEDY
            ) from error
        except (requests.ConnectionError, requests.Timeout, urllib3.exceptions.HTTPError, zlib.error) as error:
            raise _PassingError(f"no connection, or it broke ({type(error).__name__})") from error
        self._refuse_page(part, url)

    def _ask(self, url: str) -> requests.Response:
        """Return the answer without its body; every redirection is a request of its own."""
        for _ in range(MOST_REDIRECTS):
            with self._pace.turn():
                response = self._get(url)
            if not response.is_redirect:
                return response
            response.close()
            url = _redirected(url, response.headers["Location"])
        raise InputError(f"{url} leads on and on", remedy="check the address")

    def _get(self, url: str) -> requests.Response:
        try:
            return self._session.get(url, stream=True, allow_redirects=False, timeout=self._manners.timeout_s)
        except (requests.ConnectionError, requests.Timeout):  # SSLError and ProxyError are of these
            raise
        except (OSError, ValueError) as error:  # what cannot be used: an address, a proxy, a file of certificates
            raise InputError(f"{_host(url)} cannot be asked: {error}", remedy=NETWORK_REMEDY) from error

    def _judge(self, response: requests.Response, url: str) -> None:
        status = response.status_code
        if status == HTTPStatus.OK:
            return
        if status == HTTPStatus.FORBIDDEN:
            self._refused(url)
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise _PassingError(f"status {status}", _retry_after_s(response))
        raise InputError(f"{url} answers with status {status}", remedy="check that the address names an existing file")

    def _pieces(self, response: requests.Response) -> Iterator[bytes]:
        end_s = time.monotonic() + self._manners.deadline_s
        unpack = _unpacker(response)
        # What is there already, not a full chunk: a service that sends byte by byte must meet the deadline too.
        while piece := response.raw.read1(CHUNK_BYTES, decode_content=False):
            yield piece if unpack is None else unpack(piece)
            if time.monotonic() > end_s:
                raise _PassingError(f"the answer is not complete after {self._manners.deadline_s:g} s")
        # A proxy may cut an answer and correct its length; urllib3 takes what it could unpack.
        if unpack is not None and not unpack.is_whole:
            raise _PassingError("the answer is cut off: its gzip has no end")

    def _refuse_page(self, part: Path, url: str) -> None:
        with part.open("rb") as file:
            beginning = file.read(REFUSAL_BYTES)
        if any(refusal in beginning for refusal in REFUSALS):
            self._refused(url)

    def _refused(self, url: str) -> NoReturn:
        self._pace.block()
        raise InputError(
            f"{_host(url)} refuses {self._manners.agent!r} (403): it wants an organisation and an e-mail address, "
            "or was asked too fast",
            remedy="set edgar.contact in the sources file; after too many requests wait ten minutes and run again",
        )


def is_there(target: Path, checksum: str | None) -> bool:
    """Say whether a file is there with that SHA-256, or with any where there is none to compare."""
    return target.is_file() and (checksum is None or sha256(target) == checksum)


def _retry_after_s(response: requests.Response) -> float | None:
    """Return what the header Retry-After asks for, in seconds; None if there is none that can be read.

    Raises:
        InputError: it asks for more than is worth waiting for.
    """
    text = response.headers.get("Retry-After", "").strip()
    if text.isdecimal():
        pause_s = float(text)
    else:
        try:
            pause_s = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, OverflowError):  # no date, or one that no clock shows
            return None
    if pause_s > LONGEST_PAUSE_S:
        raise InputError(
            f"{_host(response.url)} asks to wait {pause_s:.0f} s", remedy="run again then; what is there is kept"
        )
    return max(0.0, pause_s)


class _Gunzip:
    """Unpacks an answer piece by piece; it may be of several parts, each a gzip of its own."""

    def __init__(self) -> None:
        self._part = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)

    @property
    def is_whole(self) -> bool:
        """Whether the last part has come to its end."""
        return self._part.eof

    def __call__(self, piece: bytes) -> bytes:
        """Return what a piece holds. Raises zlib.error where it is no gzip."""
        unpacked = b""
        while piece:
            if self._part.eof:
                self._part = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
            unpacked += self._part.decompress(piece)
            piece = self._part.unused_data
        return unpacked


def _unpacker(response: requests.Response) -> _Gunzip | None:
    """Return what unpacks an answer, None where nothing needs to.

    Raises:
        InputError: it is packed in a way that was not asked for.
    """
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip"):
        return _Gunzip()
    raise InputError(f"{response.url} answers in the encoding {encoding!r}, asked for was gzip", remedy=NETWORK_REMEDY)


def _redirected(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError as error:
        raise InputError(f"{url} leads to {location!r}, no address", remedy="check the address") from error


def _host(url: str) -> str:
    return urlsplit(url).netloc

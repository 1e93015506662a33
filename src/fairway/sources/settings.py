"""Where real text and traces come from: the sources file, `config/sources.yaml`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from fairway.errors import InputError
from fairway.sources.edgar.listing import Filing, pinned_filings, read_listing
from fairway.sources.web import Manners
from fairway.traces.settings import settings
from fairway.yamlfile import read_yaml

_ADDRESS = re.compile(r"https?://\S+")
_CONTACT = re.compile(r"[^\s@]+(?:\s+[^\s@]+)*\s+[^\s@]+@[^\s@]+\.[^\s@]+")
_SHA256 = re.compile(r"[0-9a-f]{64}")
HIGHEST_RATE_PER_S = 10.0  # EDGAR's own limit


def _is_address(text: str) -> bool:
    try:
        return bool(_ADDRESS.fullmatch(text) and urlsplit(text).hostname)
    except ValueError:  # half an IPv6 address
        return False


@dataclass(frozen=True)
class EdgarSource:
    """The SEC's service, or a mirror of it; see https://www.sec.gov/os/accessing-edgar-data."""

    data_url: str  # has /submissions
    archives_url: str  # has /Archives
    contact: str  # who asks: an organisation and an e-mail address
    requests_per_s: float
    timeout_s: float
    deadline_s: float
    attempts: int
    backoff_s: float
    changed_documents: Literal["refuse", "accept"]  # whose checksum is not the list's
    listing: str | None  # file with other filings than the pinned ones

    def __post_init__(self) -> None:
        if not 0 < self.requests_per_s <= HIGHEST_RATE_PER_S:
            raise ValueError(f"requests_per_s is {self.requests_per_s}, EDGAR allows {HIGHEST_RATE_PER_S:g}")
        if not (_is_address(self.data_url) and _is_address(self.archives_url)):
            raise ValueError("data_url and archives_url must be addresses that begin with http:// or https://")
        self._manners("")  # refuses what it must

    def filings(self) -> tuple[Filing, ...]:
        """Return the filings to fetch."""
        return pinned_filings() if self.listing is None else read_listing(Path(self.listing))

    def manners(self) -> Manners:
        """Return how to ask.

        Raises:
            InputError: there is no contact, which the service refuses.
        """
        if not _CONTACT.fullmatch(self.contact):
            raise InputError(
                f"edgar.contact is {self.contact!r}: the SEC wants to know who asks",
                remedy="set it in the sources file to your organisation and e-mail address, "
                "as in contact: Example University jane@example.edu",
            )
        if not self.contact.isascii():
            raise InputError(
                f"edgar.contact is {self.contact!r}, which no request can carry", remedy="write it without accents"
            )
        return self._manners(self.contact)

    def _manners(self, agent: str) -> Manners:
        return Manners(agent, self.requests_per_s, self.timeout_s, self.deadline_s, self.attempts, self.backoff_s)


@dataclass(frozen=True)
class QuestionSource:
    """MuSiQue's questions: a data set on the Hugging Face hub, or JSON lines in its schema."""

    hub: str
    split: str
    file: str | None  # taken instead of the hub's
    count: int
    seed: int  # of the choice, where the set has more

    def __post_init__(self) -> None:
        if self.count < 1 or self.seed < 0:
            raise ValueError("count must be at least 1, seed at least 0")


@dataclass(frozen=True)
class TraceSource:
    """A public trace in Mooncake's format."""

    url: str
    sha256: str
    file: str | None  # taken instead, whatever its checksum

    def __post_init__(self) -> None:
        if not (_is_address(self.url) and _SHA256.fullmatch(self.sha256)):
            raise ValueError(
                "url must be an address that begins with http:// or https://, sha256 have 64 hexadecimal digits"
            )


@dataclass(frozen=True)
class TokenizerSource:
    """What counts tokens: a tokenizer that a package brings, or its model in a file."""

    name: Literal["llama-3", "mistral-tekken"]
    file: str | None


@dataclass(frozen=True)
class Sources:
    """All of stage one's sources."""

    edgar: EdgarSource
    musique: QuestionSource
    mooncake: TraceSource
    tokenizer: TokenizerSource


def read_sources(path: Path) -> Sources:
    """Read a sources file.

    Raises:
        InputError: with file and line, for an unknown or missing key, a wrong type or a value out of range.
    """
    return settings(Sources, read_yaml(path))

"""Whether real data can be had here, tried once and for seconds."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from importlib.util import find_spec
from urllib.parse import urlsplit

from fairway.errors import InputError
from fairway.sources.mooncake import MANNERS
from fairway.sources.settings import Sources
from fairway.sources.tokenizer import load_tokenizer
from fairway.sources.web import Manners, Web

SECONDS = 4.0  # for each service
HUB = "https://huggingface.co/api/datasets"
NEEDED = ("lxml", "tiktoken")


@dataclass(frozen=True)
class Found:
    """What the rest of the workflow rests on: ``kind`` is "real" or "stand-in"; why it is not real."""

    kind: str
    reason: str


def find_sources(sources: Sources) -> Found:
    """Try every service once; the first that cannot be used decides, and says why."""
    try:
        _check_packages(sources)
        _check_services(sources)
    except InputError as error:
        return Found("stand-in", str(error))
    return Found("real", "")


def _check_packages(sources: Sources) -> None:
    load_tokenizer(sources.tokenizer)
    for name in NEEDED if sources.musique.file else (*NEEDED, "datasets"):
        if find_spec(name) is None:
            raise InputError(f"the package {name} is not installed", remedy="make real-env")


def _check_services(sources: Sources) -> None:
    edgar = sources.edgar
    first = edgar.filings()[0]
    _reach(f"{edgar.data_url.rstrip('/')}/submissions/CIK{first.cik:010d}.json", edgar.archives_url, edgar.manners())
    if sources.musique.file is None:
        _reach(f"{HUB}/{sources.musique.hub}", HUB, MANNERS)
    if sources.mooncake.file is None:
        _reach(sources.mooncake.url, sources.mooncake.url, MANNERS)


def _reach(url: str, service: str, manners: Manners) -> None:
    once = dataclasses.replace(manners, timeout_s=SECONDS, deadline_s=SECONDS, attempts=1)
    Web(urlsplit(service).netloc, once).reach(url)

"""Mooncake's public traces: by address and checksum, or any trace in that format by path."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from urllib.parse import urlsplit

from fairway.files import sha256
from fairway.sources.kinds import real_kind
from fairway.sources.settings import TraceSource
from fairway.sources.web import Manners, Web, is_there
from fairway.traces.agent_trace import AgentTrace
from fairway.traces.mooncake import read_trace

AGENT = "fairway (a research artifact that replays this trace)"
TOKENIZER = "lengths as published"
KIND = real_kind(TOKENIZER)
MANNERS = Manners(AGENT, requests_per_s=1.0, timeout_s=20.0, deadline_s=600.0, attempts=4, backoff_s=1.0)


def read_trace_source(source: TraceSource, downloads: Path) -> AgentTrace:
    """Return the trace, fetched into ``downloads`` unless it is there with its checksum.

    Raises:
        InputError: it cannot be fetched, has another checksum or is no such trace.
    """
    if source.file is not None:
        path = Path(source.file)
    else:
        path = downloads / Path(urlsplit(source.url).path).name
        if not is_there(path, source.sha256):
            Web(urlsplit(source.url).netloc, MANNERS).fetch(source.url, path, source.sha256)
    trace = read_trace(path)
    header = {
        "corpus_kind": KIND,
        "tokenizer": "unknown: lengths as published",
        "origin": f"{path.name}, SHA-256 {sha256(path)}",
    }
    return AgentTrace(KIND, 0, str(header["tokenizer"]), dataclasses.replace(trace, header=header))

"""Asks a server over HTTP, streaming, and notes when the tokens came."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import numpy as np
import numpy.typing as npt

from fairway.serving.server import MODEL_NAME

MOST_SILENT = aiohttp.ClientTimeout(total=None, sock_read=3_600)  # longer than the longest queue of a day is
_DATA = b"data: "
_END = b"data: [DONE]"


@dataclass
class Answer:
    """What came back for one request; times are the client's own clock in ns."""

    sent_ns: int
    token_ns: list[int] = field(default_factory=list)  # when each piece of the stream with tokens came
    prompt_tokens: int | None = None
    cached_tokens: int = 0
    output_tokens: int = 0
    error: str = ""  # why nothing, or not all, came
    aborted: bool = False  # by us


def completion_body(prompt: npt.NDArray[np.int32], output_tokens: int) -> bytes:
    """Return the body of a request for so many tokens, greedy, with the usage at its end."""
    settings = {
        "model": MODEL_NAME,
        "max_tokens": output_tokens,
        "min_tokens": output_tokens,
        "ignore_eos": True,
        "temperature": 0,
        "detokenize": False,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    tokens = ",".join(map(str, prompt.tolist()))
    return f'{json.dumps(settings)[:-1]}, "prompt": [{tokens}]}}'.encode()


async def ask(
    session: aiohttp.ClientSession,
    url: str,
    body: bytes,
    now_ns: Callable[[], int] = time.perf_counter_ns,
    abort_after_s: float | None = None,
) -> Answer:
    """Send one request and read its stream to the end, or drop the connection after ``abort_after_s``."""
    answer = Answer(sent_ns=now_ns())
    try:
        async with asyncio.timeout(abort_after_s):
            await _read(session, f"{url}/v1/completions", body, answer, now_ns)
    except aiohttp.ServerTimeoutError:
        answer.error = f"nothing came for {MOST_SILENT.sock_read:.0f} s"
    except TimeoutError:
        answer.aborted = True
    except (aiohttp.ClientError, ValueError) as error:
        answer.error = f"{type(error).__name__}: {error}"
    return answer


async def _read(
    session: aiohttp.ClientSession, url: str, body: bytes, answer: Answer, now_ns: Callable[[], int]
) -> None:
    async with session.post(url, data=body, headers={"Content-Type": "application/json"}) as response:
        if response.status != 200:
            answer.error = f"HTTP {response.status}: {(await response.text())[:200]}"
            return
        async for line in response.content:
            came_ns = now_ns()
            if line.startswith(_DATA) and not line.startswith(_END):
                _take(json.loads(line[len(_DATA) :]), answer, came_ns)


def _take(piece: dict[str, Any], answer: Answer, came_ns: int) -> None:
    if "error" in piece:
        answer.error = str(piece["error"])
    if piece.get("choices"):
        answer.token_ns.append(came_ns)
    if usage := piece.get("usage"):
        answer.prompt_tokens = usage["prompt_tokens"]
        answer.output_tokens = usage["completion_tokens"]
        answer.cached_tokens = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0

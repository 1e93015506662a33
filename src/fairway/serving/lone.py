"""Requests that a server has to itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import aiohttp
import numpy as np
import numpy.typing as npt

from fairway.errors import InputError
from fairway.serving.client import ask, completion_body
from fairway.serving.prompts import own_prompt
from fairway.serving.server import RunningServer

_REPEATS = 3
_NS_PER_MS = 1e6


def lone_ttft_ms(server: RunningServer, lengths: Sequence[int]) -> list[float]:
    """Ask for one token after prompts of these lengths, one at a time, nothing cached; return the median TTFT of each.

    Raises:
        InputError: an answer failed.
    """
    server.reset_prefix_cache()
    return asyncio.run(_ask_all(server, lengths))


async def _ask_all(server: RunningServer, lengths: Sequence[int]) -> list[float]:
    found = []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
        for place, tokens in enumerate(lengths):
            prompts = (own_prompt(_REPEATS * place + repeat, tokens) for repeat in range(_REPEATS))
            found.append(float(np.median([await _ttft_ms(session, server.url, prompt) for prompt in prompts])))
    return found


async def _ttft_ms(session: aiohttp.ClientSession, url: str, prompt: npt.NDArray[np.int32]) -> float:
    answer = await ask(session, url, completion_body(prompt, 1))
    if answer.error or not answer.token_ns:
        raise InputError(f"a lone request failed: {answer.error}", remedy="read the server's log; measure again")
    return (answer.token_ns[0] - answer.sent_ns) / _NS_PER_MS

"""Requests that a server gets all at once."""

from __future__ import annotations

import asyncio

import aiohttp

from fairway.errors import InputError
from fairway.serving.client import ask, completion_body
from fairway.serving.prompts import own_prompt
from fairway.serving.server import RunningServer

_NS_PER_MS = 1e6


def makespan_ms(server: RunningServer, requests: int, tokens: int) -> float:
    """Ask for one token after each of ``requests`` prompts of so many tokens at once, nothing cached.

    Return the time from the first request to the last token.

    Raises:
        InputError: an answer failed.
    """
    server.reset_prefix_cache()
    return asyncio.run(
        _makespan_ms(server.url, [completion_body(own_prompt(one, tokens), 1) for one in range(requests)])
    )


async def _makespan_ms(url: str, bodies: list[bytes]) -> float:
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    async with aiohttp.ClientSession(connector=connector) as session:
        answers = await asyncio.gather(*(ask(session, url, body) for body in bodies))
    failed = [answer.error for answer in answers if answer.error or not answer.token_ns]
    if failed:
        raise InputError(
            f"one of {len(bodies)} requests at once failed: {failed[0]}",
            remedy="read the server's log; measure again",
        )
    last_ns = max(answer.token_ns[0] for answer in answers)
    return (last_ns - min(answer.sent_ns for answer in answers)) / _NS_PER_MS

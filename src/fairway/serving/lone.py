"""Requests that a server has to itself: what HTTP adds to a step, and how fast its steps are just now."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import aiohttp
import numpy as np
import numpy.typing as npt

from fairway.errors import InputError
from fairway.profile import Profile
from fairway.serving.client import ask, completion_body
from fairway.serving.prompts import FIRST_TOKEN, ORDINARY_TOKENS
from fairway.serving.server import RunningServer

LENGTHS = (32, 256, 512, 1024, 1536, 2000)
_REPEATS = 3
_NS_PER_MS = 1e6


@dataclass(frozen=True)
class LoneFit:
    """TTFT of a lone request: ``overhead_ms + slowness * what the profile says``."""

    overhead_ms: float
    slowness: float


def lone_fit(server: RunningServer, profile: Profile) -> LoneFit:
    """Ask for one token after prompts of some lengths, one at a time, and fit their TTFT; leaves their cached blocks.

    Raises:
        InputError: an answer failed.
    """
    limits = server.serving.limits
    lengths = [tokens for tokens in LENGTHS if tokens < min(server.serving.context_tokens, limits.budget_tokens)]
    said_ms = [profile.prefill_ns(tokens, 0, limits.budget_tokens) / _NS_PER_MS for tokens in lengths]
    return fit(said_ms, asyncio.run(_median_ttft_ms(server, lengths)))


def fit(said_ms: list[float], measured_ms: list[float]) -> LoneFit:
    """Fit a line through the profile's and the measured times, each weighed by its own time."""
    weights = 1 / np.array(measured_ms)
    columns = np.stack([np.ones(len(said_ms)), np.array(said_ms)], axis=1) * weights[:, None]
    overhead_ms, slowness = np.linalg.lstsq(columns, np.ones(len(said_ms)), rcond=None)[0]
    return LoneFit(float(overhead_ms), float(slowness))


async def _median_ttft_ms(server: RunningServer, lengths: list[int]) -> list[float]:
    found = []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
        for place, tokens in enumerate(lengths):
            times_ms = [
                await _ttft_ms(session, server.url, _prompt(_REPEATS * place + repeat, tokens))
                for repeat in range(_REPEATS)
            ]
            found.append(float(np.median(times_ms)))
    return found


async def _ttft_ms(session: aiohttp.ClientSession, url: str, prompt: npt.NDArray[np.int32]) -> float:
    answer = await ask(session, url, completion_body(prompt, 1))
    if answer.error or not answer.token_ns:
        raise InputError(f"a lone request failed: {answer.error}", remedy="read the server's log; measure again")
    return (answer.token_ns[0] - answer.sent_ns) / _NS_PER_MS


def _prompt(number: int, tokens: int) -> npt.NDArray[np.int32]:
    """Return a prompt that shares no block with another one."""
    return (FIRST_TOKEN + (np.arange(tokens) * 11 + 101 * number) % ORDINARY_TOKENS).astype(np.int32)

"""What lone requests say of a server: what HTTP adds to a step, and how fast its steps are just now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairway.profile import Profile
from fairway.serving.lone import lone_ttft_ms
from fairway.serving.server import RunningServer

LENGTHS = (32, 256, 512, 1024, 1536, 2000)
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
    longest = min(server.serving.context_tokens - 1, limits.budget_tokens)
    lengths = [tokens for tokens in LENGTHS if tokens <= longest]
    said_ms = [profile.prefill_ns(tokens, 0, limits.budget_tokens) / _NS_PER_MS for tokens in lengths]
    return fit(said_ms, lone_ttft_ms(server, lengths))


def fit(said_ms: Sequence[float], measured_ms: Sequence[float]) -> LoneFit:
    """Fit a line through the profile's and the measured times, each weighed by its own time."""
    weights = 1 / np.array(measured_ms)
    columns = np.stack([np.ones(len(said_ms)), np.array(said_ms)], axis=1) * weights[:, None]
    overhead_ms, slowness = np.linalg.lstsq(columns, np.ones(len(said_ms)), rcond=None)[0]
    return LoneFit(float(overhead_ms), float(slowness))

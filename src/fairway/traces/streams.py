"""Named streams of random numbers: adding one does not shift another."""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt

from fairway.traces.trace import Int64Array

Float64Array = npt.NDArray[np.float64]


def stream(seed: int, name: str) -> np.random.Generator:
    """Return the generator of one purpose; the same seed and name give the same numbers everywhere."""
    sequence = np.random.SeedSequence([seed, zlib.crc32(name.encode("utf-8"))])
    return np.random.Generator(np.random.PCG64(sequence))


def scale_to_integers(uniforms: Float64Array, lowest: int | Int64Array, highest: int | Int64Array) -> Int64Array:
    """Turn uniform numbers of [0, 1) into integers ``lowest..highest``, both included, each as likely.

    One number is used for each result, so the first results do not depend on how many follow.
    """
    width = np.asarray(highest, dtype=np.int64) - lowest + 1
    return np.asarray(lowest + np.floor(uniforms * width), dtype=np.int64)

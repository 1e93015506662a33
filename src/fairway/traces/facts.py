"""Facts about real data that the embedded corpora follow: small committed tables, each with its source."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fairway.files import write_text
from fairway.traces.settings import settings
from fairway.traces.streams import Float64Array
from fairway.traces.trace import Int64Array
from fairway.yamlfile import YamlFile

T = TypeVar("T")


def read_facts(name: str, kind: type[T]) -> T:
    """Read the table ``facts/<name>.json`` of this package as the dataclass ``kind``."""
    file = Path(str(resources.files("fairway.traces") / "facts" / f"{name}.json"))
    return settings(kind, YamlFile(file, json.loads(file.read_text(encoding="utf-8")), lines={}))


def write_facts(facts: Any, path: Path) -> None:
    """Write a dataclass of facts as JSON, every table of numbers on one line."""
    text = json.dumps(dataclasses.asdict(facts), indent=2, ensure_ascii=False)
    tables_on_one_line = re.sub(r"\[[\d\s,]+\]", lambda table: re.sub(r"\s+", " ", table[0]), text)
    write_text(path, tables_on_one_line + "\n")


def quantiles(values: Int64Array, steps: int) -> tuple[int, ...]:
    """Return the minimum, ``steps - 1`` quantiles between (each a value that occurs) and the maximum."""
    shares = np.linspace(0.0, 1.0, steps + 1)
    return tuple(np.quantile(values, shares, method="inverted_cdf").astype(np.int64).tolist())


def draw_from(table: Sequence[int], uniforms: Float64Array) -> Int64Array:
    """Turn uniform numbers of [0, 1) into whole numbers distributed as a table of evenly spaced quantiles."""
    scaled = uniforms * (len(table) - 1)
    steps = np.floor(scaled).astype(np.int64)
    values = np.array(table, dtype=np.int64)
    below, above = values[steps], values[steps + 1]
    # The product alone is rounded down, so that no machine's fused multiply-add can move a value.
    return np.asarray(below + np.floor((scaled - steps) * (above - below)).astype(np.int64), dtype=np.int64)


def strata(generator: np.random.Generator, count: int) -> Float64Array:
    """Return ``count`` uniform numbers, one in each ``count``-th of [0, 1), in random order."""
    uniforms = (np.arange(count) + generator.random(count)) / count
    return np.asarray(generator.permutation(uniforms), dtype=np.float64)

"""What is noted of every hook with requests waiting: the queue's length, its work, and how the policy orders it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from fairway.policies import Policy, QueueView, checked_order

Int64Array = npt.NDArray[np.int64]
FEWEST_TO_CORRELATE = 5  # below that a rank correlation says nothing
PERCENTS = (5, 50, 95)
UNRANKED = -1  # in place of a sum of squares: too few requests, or an order that leaves some out


@dataclass(frozen=True, eq=False)
class Hooks:
    """One value a hook in each column."""

    step: Int64Array
    now_ns: Int64Array
    waiting: Int64Array
    uncached_min: Int64Array
    uncached_p5: Int64Array  # percentiles by `inverted_cdf`
    uncached_p50: Int64Array
    uncached_p95: Int64Array
    uncached_max: Int64Array
    arrival_correlation: list[float | None]  # Spearman's, of the policy's positions with those by arrival
    lpm_correlation: list[float | None]  # with those by longest hit; None where it says nothing

    @classmethod
    def of(cls, rows: npt.ArrayLike) -> Self:
        """Take rows of all columns but the correlations, which follow as sums of squares (see `spearman`)."""
        table = np.asarray(rows, dtype=np.int64).reshape(-1, len(fields(cls)))
        columns: dict[str, Any] = {field.name: column for field, column in zip(fields(cls), table.T, strict=True)}
        waiting = columns["waiting"].tolist()
        for name in ("arrival_correlation", "lpm_correlation"):
            squares = columns[name].tolist()
            columns[name] = [spearman(total, count) for total, count in zip(squares, waiting, strict=True)]
        return cls(**columns)


class HookRecorder:
    """Observes an engine's hooks."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, ...]] = []

    def __call__(self, step: int, view: QueueView, policy: Policy) -> None:
        """Record one hook."""
        uncached = np.sort(view.uncached_tokens)
        percentiles = [int(uncached[order_statistic_index(len(view), percent)]) for percent in PERCENTS]
        spread = (int(uncached[0]), *percentiles, int(uncached[-1]))
        self._rows.append((step, view.now_ns, len(view), *spread, *_squares(view, policy)))

    def hooks(self) -> Hooks:
        """Return what was recorded."""
        return Hooks.of(self._rows)


def order_statistic_index(count: int, percent: int) -> int:
    """Return where the percentile by ``inverted_cdf`` stands among ``count`` sorted values."""
    return max(-(-count * percent // 100), 1) - 1


def spearman(squares: int, count: int) -> float | None:
    """Return the correlation of two rankings without ties from the sum of the squared differences of ranks.

    It is computed from whole numbers: the same on every machine. None if nobody was ranked.
    """
    return None if squares == UNRANKED else 1 - 6 * squares / (count * (count * count - 1))


def _squares(view: QueueView, policy: Policy) -> tuple[int, int]:
    """Return the sums of squared differences of the policy's positions to those by arrival and by longest hit."""
    if len(view) < FEWEST_TO_CORRELATE:
        return UNRANKED, UNRANKED
    order = np.fromiter(checked_order(policy, view), dtype=np.int64)
    if len(order) < len(view):  # a policy may leave requests out; then its positions are no ranking of the queue
        return UNRANKED, UNRANKED
    by_hit = np.argsort(-view.hit_tokens, kind="stable")
    rank = _ranks(order)
    return _sum_of_squares(rank - np.arange(len(view))), _sum_of_squares(rank - _ranks(by_hit))


def _ranks(order: Int64Array) -> Int64Array:
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return ranks


def _sum_of_squares(differences: Int64Array) -> int:
    return int((differences**2).sum())

"""Replacing seeds that cannot be calibrated by the next ones of their own slot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from fairway.errors import InputError
from fairway.traces.workload import SeedRule

T = TypeVar("T")


class SeedUnusable(Exception):  # noqa: N818  a turn of the search, not an error
    """A seed cannot be calibrated; the text says why."""


@dataclass(frozen=True)
class ReplacedSeed:
    """A seed that was tried, and why it is not used."""

    seed: int
    reason: str


@dataclass(frozen=True)
class UsableSeed(Generic[T]):
    """The first usable seed, what was found for it, and the seeds tried before."""

    seed: int
    found: T
    replaced: tuple[ReplacedSeed, ...]


def first_usable_seed(seed: int, rule: SeedRule, attempt: Callable[[int], T]) -> UsableSeed[T]:
    """Try ``seed`` and then its replacements until ``attempt`` does not raise `SeedUnusable`.

    Raises:
        InputError: no seed that the rule allows is usable.
    """
    replaced: list[ReplacedSeed] = []
    for candidate in range(seed, seed + (rule.replacements + 1) * rule.stride, rule.stride):
        try:
            return UsableSeed(candidate, attempt(candidate), tuple(replaced))
        except SeedUnusable as reason:
            replaced.append(ReplacedSeed(candidate, str(reason)))
    raise InputError(
        f"none of {len(replaced)} seeds from {seed} on can be calibrated; the last one: {replaced[-1].reason}",
        remedy="check workload and profile, or allow more replacements",
    )

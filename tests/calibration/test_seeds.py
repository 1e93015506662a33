import pytest

from fairway.calibration.seeds import ReplacedSeed, SeedUnusable, first_usable_seed
from fairway.errors import InputError
from fairway.traces.workload import SeedRule


def test_a_seed_is_replaced_by_the_next_of_its_slot() -> None:
    def attempt(seed: int) -> str:
        if seed < 2000:
            raise SeedUnusable(f"too high at {seed}")
        return f"found for {seed}"

    usable = first_usable_seed(7, SeedRule(stride=1000, replacements=5), attempt)
    assert (usable.seed, usable.found) == (2007, "found for 2007")
    assert usable.replaced == (ReplacedSeed(7, "too high at 7"), ReplacedSeed(1007, "too high at 1007"))


def test_replacements_come_to_an_end() -> None:
    tried: list[int] = []

    def attempt(seed: int) -> str:
        tried.append(seed)
        raise SeedUnusable("never")

    with pytest.raises(InputError, match="none of 3 seeds from 7 on"):
        first_usable_seed(7, SeedRule(stride=1000, replacements=2), attempt)
    assert tried == [7, 1007, 2007]

"""A profile taken of an engine whose step times are known comes out as they are."""

import random
from dataclasses import replace

import numpy as np
import pytest

from fairway.analysis.figures import profile_residuals
from fairway.engine import Limits
from fairway.errors import InputError
from fairway.files import write_sealed
from fairway.measuring import fit, profile_stage
from fairway.measuring.fit import Sample, least_squares_from_zero, split
from fairway.measuring.plan import CPU_GRID, GPU_GRID, REFERENCE, Grid, checks, fitting, order, points
from fairway.measuring.profile_stage import Origin, take_profile, unfinished_fit
from fairway.profile import load_profile

GRID = Grid((1, 16, 32, 64, 128, 256), (0, 512, 2048), repeats=5, warm_up_steps=3)
LIMITS = Limits(cache_blocks=1_000, budget_tokens=256, block_tokens=16)
ORIGIN = Origin("test", "a device", "a model", {"vllm": "0.32.0"}, {}, "2026-01-01", "abc")


def true_ms(chunks):
    tokens = sum(new for new, _ in chunks)
    return 5.0 + 0.05 * tokens + sum(0.2 + 2e-6 * new * (new + prefix) for new, prefix in chunks)


class Device:
    """Steps take what `true_ms` says, with noise, and now and then ten times as long."""

    def __init__(self, noise=0.0, drift=0.0, hiccups=0.0):
        self.random = random.Random(1)
        self.noise, self.drift, self.hiccups = noise, drift, hiccups
        self.steps = []

    def step_ns(self, chunks):
        self.steps.append(chunks)
        factor = 1 + self.noise * self.random.gauss(0, 1) + self.drift * len(self.steps)
        if self.random.random() < self.hiccups:
            factor *= 10
        return round(1e6 * true_ms(chunks) * factor)

    def generation_ns(self, prefixes):
        return self.step_ns(tuple((1, prefix) for prefix in prefixes))


def taken(device, grid=GRID):
    return take_profile(device, grid, LIMITS, ORIGIN, seed=1, report=lambda share: None)


def test_exact_times_come_back(tmp_path):
    document = taken(Device())
    for row in document["measurement"]["fitted"]:
        assert row["residual_share"] == pytest.approx(0, abs=0.005)
    for row in document["measurement"]["held_out"]:
        assert row["residual_share"] == pytest.approx(0, abs=0.02)
    assert document["measurement"]["drift"]["ratio"] == 1
    file = tmp_path / "profile.json"
    write_sealed(file, document)
    profile = load_profile(file)
    assert profile.evidence == "measured"
    # Between the points of the grid, and beyond them.
    for chunks in [((48, 512),), ((100, 0), (100, 512)), ((256, 1_000),)]:
        said_ms = profile.step_ns([(new, new + prefix) for new, prefix in chunks]) / 1e6
        assert said_ms == pytest.approx(true_ms(chunks), rel=0.03)
    beyond_ms = profile.step_ns([(256, 256 + 8_192)]) / 1e6
    assert beyond_ms == pytest.approx(true_ms(((256, 8_192),)), rel=0.2)
    assert profile.extrapolated_tokens([(256, 256 + 8_192)]) == 256


class GeneratingDevice(Device):
    """Requests that only go on to generate cost half."""

    def generation_ns(self, prefixes):
        return super().generation_ns(prefixes) // 2


def test_steps_of_one_token_each_are_those_of_requests_that_go_on_to_generate():
    rows = taken(GeneratingDevice())["measurement"]["fitted"]
    for row in rows:
        share = 0.5 if all(new == 1 for new, _ in row["chunks"]) else 1
        assert row["measured_ms"] == pytest.approx(share * true_ms(row["chunks"])), row["chunks"]
    assert sum(row["chunks"][0][0] == 1 for row in rows) > 3


def test_noise_and_hiccups_are_reported_and_do_not_move_the_medians():
    grid = Grid(GRID.new_tokens, GRID.prefix_tokens, repeats=15, warm_up_steps=3)
    rows = taken(Device(noise=0.01, hiccups=0.05), grid)["measurement"]["fitted"]
    assert sum(row["outliers"] for row in rows) >= 0.02 * len(rows) * 15
    assert max(abs(row["residual_share"]) for row in rows) < 0.05


def test_a_drifting_device_is_told_from_a_steady_one():
    drifting = taken(Device(drift=0.0005))["measurement"]["drift"]["ratio"]
    assert drifting > 1.05
    assert taken(Device(noise=0.01))["measurement"]["drift"]["ratio"] == pytest.approx(1, abs=0.02)


def test_steps_come_in_random_order_with_a_reference_in_between():
    steps = order(points(GRID, 10**6), repeats=3, seed=1)
    assert steps[0] is steps[-1] is REFERENCE
    measured = [one for one in steps if one is not REFERENCE]
    assert measured != sorted(measured)
    assert {measured.count(one) for one in measured} == {3}
    assert order(points(GRID, 10**6), 3, seed=1) == steps
    assert order(points(GRID, 10**6), 3, seed=2) != steps


@pytest.mark.parametrize("grid", [CPU_GRID, GPU_GRID])
def test_each_point_is_measured_in_several_requests_too(grid):
    """Otherwise what its step costs could not be told from what its request does."""
    mixed = {sum(new for new, _ in chunks) for chunks in points(grid, 10**6) if len(chunks) > 1}
    assert mixed == set(grid.new_tokens) - {1}


@pytest.mark.parametrize(("budget_tokens", "cache_tokens"), [(128, 100), (0, 1_000)])
def test_an_engine_that_runs_no_step_is_refused(budget_tokens, cache_tokens):
    with pytest.raises(InputError, match="does not hold a step"):
        fitting(GRID, budget_tokens, cache_tokens)


def test_only_steps_that_fit_are_measured():
    grid = fitting(GRID, budget_tokens=128, cache_tokens=1_000)
    assert grid.new_tokens == (1, 16, 32, 64, 128)
    assert grid.prefix_tokens == (0, 512)
    for chunks in [*points(grid, 1_000), *checks(grid, 1_000, block_tokens=16, seed=1)]:
        assert sum(new for new, _ in chunks) <= 128
        assert sum(new + prefix for new, prefix in chunks) <= 1_000


def test_a_point_that_was_not_measured_is_refused():
    with pytest.raises(InputError, match="points of the grid were not measured"):
        split([Sample(((16, 0),), (1, 2))], GRID)


def test_least_squares_without_negative_values_is_the_best_there_is():
    numbers = np.random.default_rng(1)
    for _ in range(20):
        matrix, wanted = numbers.normal(size=(12, 5)), numbers.normal(size=12)
        found, is_best = least_squares_from_zero(matrix, wanted)
        assert is_best
        pull = matrix.T @ (wanted - matrix @ found)
        assert (found >= 0).all()
        assert pull[found > 0] == pytest.approx(0, abs=1e-8), "free values cannot do better"
        assert (pull[found == 0] <= 1e-8).all(), "values at 0 would only help below it"


def test_a_fit_that_ends_early_says_so(monkeypatch):
    samples = [Sample(chunks, (round(1e6 * true_ms(chunks)),)) for chunks in points(GRID, 10**6)]
    parts = split(samples, GRID)
    assert parts.is_best
    monkeypatch.setattr(fit, "_MOST_ROUNDS", 0)
    assert not split(samples, GRID).is_best
    for is_best in (True, False):
        found = replace(parts, is_best=is_best)
        monkeypatch.setattr(profile_stage, "split", lambda *_, found=found: found)
        document = taken(Device())
        said = "the fit ended before it was the closest to the measured steps"
        assert (f"{said}. Remedy: " in unfinished_fit(document)) is not is_best
        (text,) = profile_residuals.draw(document, profile_residuals.Layout()).texts
        assert (f"WARNING: {said}" in text.get_text()) is not is_best


def test_noise_is_averaged_and_lifts_no_neighbours():
    """One step that was measured too long must not make all larger ones slow."""
    samples = [Sample(chunks, (round(1e6 * true_ms(chunks)),)) for chunks in points(GRID, 10**6)]
    spoilt = samples.index(next(one for one in samples if one.chunks == ((32, 0),)))
    samples[spoilt] = Sample(samples[spoilt].chunks, (round(3e6 * true_ms(((32, 0),))),))
    parts, exact = split(samples, GRID), [true_ms(((tokens, 0),)) for tokens in GRID.new_tokens]
    said = parts.linear_ms + parts.attention_ms[:, 0]
    assert said[3:] == pytest.approx(exact[3:], rel=0.05)


def test_steps_that_are_held_out_are_those_of_a_server():
    drawn = checks(GRID, 10**6, block_tokens=16, seed=1)
    assert drawn == checks(GRID, 10**6, block_tokens=16, seed=1) != checks(GRID, 10**6, block_tokens=16, seed=2)
    assert sum(sum(new for new, _ in chunks) == 256 for chunks in drawn) >= len(drawn) / 2
    assert any(new not in GRID.new_tokens for chunks in drawn for new, _ in chunks)
    assert all(prefix % 16 == 0 for chunks in drawn for _, prefix in chunks)
    assert max(len(chunks) for chunks in drawn) > 3


def test_times_never_fall_with_tokens():
    noise = np.random.default_rng(1)
    samples = [
        Sample(chunks, tuple(round(1e6 * true_ms(chunks) * noise.uniform(0.7, 1.3)) for _ in range(3)))
        for chunks in points(GRID, 10**6)
    ]
    parts = split(samples, GRID)
    assert (np.diff(parts.linear_ms) >= 0).all()
    assert (np.diff(parts.attention_ms, axis=0) >= 0).all()
    assert (np.diff(parts.attention_ms, axis=1) >= 0).all()


@pytest.mark.parametrize(
    ("new", "prefix"),
    [((33, 16), (0,)), ((0, 16), (0,)), ((), (0,)), ((16, 32), (512,)), ((16, 32), (0, 64, 32)), ((16, 32), ())],
)
def test_an_impossible_grid_is_refused(new, prefix):
    with pytest.raises(ValueError):
        Grid(new, prefix, repeats=1, warm_up_steps=0)

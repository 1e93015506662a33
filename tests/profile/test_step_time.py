"""Step times: the published figures, monotone everywhere, nothing clamped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.profile import load_profile, profile_names
from fairway.profile.reader import profile_from

A6000 = "a6000-llama-3.1-8b-modelled"
LENGTHS = (300, 1024, 2048, 4096, 8192, 16384)


def measured(linear=None, attention=None):
    """A profile with tables, as a measurement would give."""
    document = {
        "format": 1,
        "name": "small",
        "device": "d",
        "model": "m",
        "evidence": "measured",
        "measurement": {"device": "d"},
        "source": "a test",
        "efficiency": 1.0,
        "linear": {"fit": {"floor_ms": 5.0, "constant_ms": 2.0, "per_token_ms": 0.04}},
        "attention": {"fit": {"floor_ms": 0.0, "constant_ms": 0.0, "per_context_token_ms": 1e-4}},
    }
    document["linear"]["table"] = linear or {"tokens": [512, 2048, 8192], "ms": [20.0, 75.0, 330.0]}
    if attention:
        document["attention"]["table"] = attention
    return profile_from(document, "test")


GRID = {"new_tokens": [16, 512, 2048], "prefix_tokens": [0, 4096], "ms": [[0.1, 0.5], [0.2, 0.9], [0.4, 2.0]]}
PROFILES = {name: load_profile(name) for name in profile_names()} | {
    "linear table": measured(),
    "both tables": measured(attention=GRID),
    "one point": measured({"tokens": [512], "ms": [20.0]}, {"new_tokens": [512], "prefix_tokens": [0], "ms": [[0.2]]}),
}


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        (A6000, (0.041, 0.128, 0.269, 0.552, 1.163, 2.559)),
        (A6000 + "-pessimistic", (0.052, 0.165, 0.343, 0.700, 1.459, 3.152)),
    ],
)
def test_the_modelled_a6000_and_its_twin(name, seconds):
    profile = PROFILES[name]
    assert [round(profile.prefill_ns(n, 0, 2048) / 1e9, 3) for n in LENGTHS] == list(seconds)
    assert profile.evidence == "modelled"
    assert "odelled" in profile.source


def test_a_step_worked_by_hand():
    profile = PROFILES[A6000]
    # two requests of 100 and 200 new tokens: linear 0.1084 * 300 + 4.21 = 36.73, attention 0.32 each, over 0.9
    assert profile.step_ns([(100, 100), (200, 1200)]) == round((36.73 + 0.32 + (1.86e-4 * 1200 + 0.16)) / 0.9 * 1e6)
    assert profile.step_ns([(1, 1)]) == round(22.32 / 0.9 * 1e6), "the weights have to be read once"


def test_an_empty_step_takes_no_time():
    assert PROFILES[A6000].step_ns([]) == 0


@given(st.sampled_from(sorted(PROFILES)), st.integers(1, 90_000), st.integers(0, 90_000), st.integers(1, 3000))
def test_prefill_time_never_falls(name, c, h, more):
    profile = PROFILES[name]
    base = profile.prefill_ns(h + c, h, 2048)
    assert base > 0
    assert profile.prefill_ns(h + c + more, h, 2048) >= base, "in c at fixed h"
    assert profile.prefill_ns(h + c + more, h + more, 2048) >= base, "in h at fixed c"


def test_measured_points_come_back_exactly():
    profile = measured(attention=GRID)
    assert profile.step_ns([(512, 512)]) == 20_200_000
    assert profile.step_ns([(2048, 2048 + 4096)]) == 77_000_000
    assert profile.step_ns([(1280, 1280)]) == round((47.5 + 0.3) * 1e6)


def test_beyond_the_table_the_fit_goes_on_and_is_counted():
    profile = measured()
    assert profile.linear.ms(87_169) == pytest.approx(0.04 * 87_169 + 2)
    assert profile.extrapolated_tokens([(600, 600)]) == 0
    assert profile.extrapolated_tokens([(9000, 9000)]) == 9000
    assert profile.extrapolated_tokens([(1, 1)]) == 1
    assert measured(attention=GRID).extrapolated_tokens([(600, 700), (500, 9000)]) == 500
    assert PROFILES[A6000].extrapolated_tokens([(9000, 90_000)]) == 0, "a model has no measured range to leave"


@pytest.mark.parametrize("name", ["linear table", "both tables", "one point"])
def test_questions_beside_a_small_table_get_finite_positive_answers(name):
    profile = PROFILES[name]
    for new, prefix in ((1, 0), (513, 0), (2, 544), (600, 32_000), (87_169, 0)):
        assert 5_000_000 <= profile.step_ns([(new, new + prefix)]) < 10**11
        assert profile.step_ns([(new, new + prefix)]) <= profile.step_ns([(new + 1, new + prefix + 1)])
        assert profile.step_ns([(new, new + prefix)]) <= profile.step_ns([(new, new + prefix + 1)])


@pytest.mark.parametrize("name", ["linear table", "both tables", "one point"])
def test_beyond_the_last_row_time_goes_on_growing(name):
    assert PROFILES[name].step_ns([(87_169, 87_169)]) / 1e6 > 3_000 > PROFILES[name].linear.table.ms_at[-1]

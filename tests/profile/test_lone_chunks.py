"""Chunks as arrays: the same numbers as one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profile.test_step_time import PROFILES

from fairway.profile.lone_chunks import LoneChunks

CONTEXTS = st.one_of(st.integers(1, 3000), st.integers(1, 40_000))


@pytest.mark.parametrize("name", PROFILES)
@given(context=CONTEXTS, budget=st.sampled_from([1, 17, 600, 2048, 3000]), data=st.data())
def test_the_same_as_steps_of_one_chunk(name, context, budget, data):
    times = LoneChunks(PROFILES[name], budget).ns(context)
    assert times.shape == (min(budget, context),)
    for new in data.draw(st.lists(st.integers(1, len(times)), min_size=1, max_size=20)):
        assert times[new - 1] == PROFILES[name].step_ns([(new, context)])


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize(("new", "context"), [(512, 2048), (513, 2048), (512, 512), (2048, 6144), (16, 16), (1, 1)])
def test_at_the_edges_of_fits_and_tables(name, new, context):
    assert LoneChunks(PROFILES[name], 2048).ns(context)[new - 1] == PROFILES[name].step_ns([(new, context)])


@pytest.mark.parametrize("name", PROFILES)
@given(chunks=st.lists(st.tuples(st.integers(1, 600), st.integers(0, 9000)), min_size=1, max_size=6))
def test_no_step_undercuts_its_least(name, chunks):
    profile = PROFILES[name]
    step_ns = profile.step_ns([(new, new + prefix) for new, prefix in chunks])
    assert profile.least_step_ns(sum(new for new, _ in chunks)) <= step_ns

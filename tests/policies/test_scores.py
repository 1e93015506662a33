"""A score is one definition: for one request and for a whole queue the same bits come out."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairway.policies import QueueView, make_policy
from fairway.policies.fairway import absolute_score, relative_score
from fairway.policies.hrrn import response_ratio
from fairway.policies.lpm import cached_length
from fairway.policies.lpm_aging import aged_length
from fairway.policies.peek import saved_time
from fairway.policies.preble import cached_share_group
from fairway.policies.ragcache import reuse_ratio
from fairway.policies.srpt import shortness

TOKENS, NS = st.integers(0, 200_000), st.integers(0, 10**12)


@given(st.lists(st.tuples(TOKENS, TOKENS, NS, st.integers(1, 10**11)), min_size=1, max_size=50))
def test_scalars_and_arrays_agree_bit_for_bit(rows):
    columns = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]
    hit, uncached, wait, prefill = columns
    for function, arguments in (
        (relative_score, (hit, uncached, wait, prefill, 3, 10**9)),
        (absolute_score, (hit, uncached, wait)),
        (cached_length, (hit,)),
        (reuse_ratio, (hit, uncached)),
        (shortness, (uncached,)),
        (response_ratio, (hit, uncached)),
        (aged_length, (hit, uncached, 64)),
        (saved_time, (prefill, hit, wait, 0)),
        (saved_time, (prefill, hit, wait, 0.7)),
        (cached_share_group, (hit, hit + uncached + 1)),
    ):
        together = function(*arguments).tolist()
        for index in range(len(rows)):
            one = [int(value[index]) if isinstance(value, np.ndarray) else value for value in arguments]
            assert function(*one) == together[index]


def test_the_absolute_wait_ignores_patience():
    assert absolute_score(0, 6000, 2_000_000_000) == 2.0


def test_a_ratio_tie_goes_to_the_older_request():
    hit, n = np.array([300, 600], dtype=np.int64), np.array([400, 800], dtype=np.int64)
    zeros = np.zeros(2, dtype=np.int64)
    view = QueueView(0, zeros, n, hit, zeros + 1, zeros, np.arange(2))
    assert list(make_policy("ragcache").order(view)) == [0, 1]

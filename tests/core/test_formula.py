"""A score's program gives the function's numbers, bit for bit; what is more than arithmetic is left to Python."""

from functools import partial

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.conftest import NAMES

from fairway.core.formula import COLUMNS, KEPT, KEY, NotPlainError, Program, program_of, run_clocked, run_steady
from fairway.core.plan import plan_of
from fairway.policies import QueueView, Score, make_policy
from fairway.policies.fairway import absolute_score, relative_score
from fairway.policies.lpm import cached_length
from fairway.policies.peek import saved_time
from fairway.policies.preble import cached_share_group
from fairway.policies.ragcache import reuse_ratio
from fairway.policies.srpt import shortness

NOW_NS = 10**12
TOKENS, NS = st.integers(0, 200_000), st.integers(0, NOW_NS)


@numba.njit(error_model="numpy")
def run_both(instructions, steady, ints, floats, columns, reals):
    for place in range(columns.shape[1]):
        run_steady(instructions, steady, ints, floats, columns, reals, place)
    run_clocked(instructions, steady, ints, floats, columns, reals, 0, columns.shape[1])


def keys(program: Program, view: QueueView) -> list[int]:
    """Return the keys of a view's requests."""
    columns = np.zeros((KEPT + program.kept_ints, len(view)), dtype=np.int64)
    for name, row in COLUMNS.items():
        columns[row] = getattr(view, name)
    reals = np.zeros((program.kept_floats, len(view)))
    program.ints[program.clock_register] = view.now_ns
    run_both(program.instructions, program.steady, program.ints, program.floats, columns, reals)
    return columns[KEY].tolist()


def ordered(values: np.ndarray) -> list[int]:
    """Return the whole numbers that stand for scores: themselves, or their bits in the order of the numbers."""
    if values.dtype == np.int64:
        return np.maximum(values, -(2**63) + 1).tolist()  # the very lowest stands for a place without a request
    assert values.dtype == np.float64
    bits = (values + 0.0).view(np.int64)
    return np.where(np.isnan(values), -(2**63) + 1, bits ^ ((bits >> 63) & (2**63 - 1))).tolist()


def view_of(rows: list[tuple[int, int, int, int]]) -> QueueView:
    hit, uncached, arrival, prefill = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    remaining = prefill // 3
    return QueueView(NOW_NS, arrival, hit + uncached, hit, prefill, hit % 7, np.arange(len(rows)), remaining)


def check(score: Score, view: QueueView) -> None:
    with np.errstate(all="ignore"):
        wanted = score.of(view)
    assert keys(program_of(score), view) == ordered(wanted)


SCORES = [
    Score(cached_length),
    Score(reuse_ratio),
    Score(shortness),
    Score(absolute_score),
    *(Score(relative_score, (multiple, 10**9)) for multiple in (3, 2.5, 1e-3)),
    *(Score(saved_time, (alpha,)) for alpha in (0, 1, 0.7)),
    Score(lambda hit_tokens, wait_ns: (wait_ns - 5) / hit_tokens),  # by zero, too
    Score(lambda hit_tokens, n_tokens: hit_tokens / hit_tokens - n_tokens),  # no number
    Score(lambda hit_tokens: -(hit_tokens * 0.0)),  # minus zero is zero
    Score(lambda hit_tokens, now_ns: hit_tokens - now_ns * (hit_tokens + 0.5)),
    Score(lambda hit_tokens, head_id: np.minimum(abs(3 - hit_tokens), head_id) * np.float32(0.1)),
    Score(lambda n_tokens, k: n_tokens * k, (2**62,)),  # wraps around, as numpy's does
    Score(cached_share_group),
    Score(lambda n_tokens, k: (n_tokens * k) // -1, (-(2**63),)),  # of which the lowest number has no opposite
    Score(lambda hit_tokens, n_tokens: (7 - n_tokens) // hit_tokens),  # by zero, too
]


@given(st.lists(st.tuples(TOKENS, TOKENS, NS, st.integers(1, 10**11)), min_size=1, max_size=40))
def test_a_program_gives_the_function_s_bits(rows):
    view = view_of(rows)
    for score in SCORES:
        check(score, view)


COLUMN = st.sampled_from(["hit_tokens", "uncached_tokens", "n_tokens", "wait_ns", "prefill_ns", "arrival_ns", "now_ns"])
NUMBER = st.one_of(st.integers(-(2**40), 2**40), st.floats(allow_nan=True, allow_infinity=True))
BINARY = st.sampled_from([np.add, np.subtract, np.multiply, np.true_divide, np.floor_divide, np.maximum, np.minimum])
UNARY = st.sampled_from([np.negative, np.absolute])


def grown(inner):
    """Return strategies of functions of a dictionary of columns."""
    two = st.tuples(BINARY, inner, inner).map(lambda t: partial(apply_two, *t))
    one = st.tuples(UNARY, inner).map(lambda t: partial(apply_one, *t))
    return st.one_of(two, one)


def apply_two(ufunc, left, right, columns):
    return ufunc(left(columns), right(columns))


def apply_one(ufunc, inside, columns):
    return ufunc(inside(columns))


LEAF = st.one_of(
    COLUMN.map(lambda name: lambda columns: columns[name]),
    NUMBER.map(lambda number: lambda columns: number),
)


@given(
    st.recursive(LEAF, grown, max_leaves=8),
    st.lists(st.tuples(TOKENS, TOKENS, NS, st.integers(1, 10**11)), min_size=1, max_size=20),
)
def test_any_arithmetic_gives_the_same_bits(expression, rows):
    def function(hit_tokens, uncached_tokens, n_tokens, wait_ns, prefill_ns, arrival_ns, now_ns):
        columns = dict(
            hit_tokens=hit_tokens,
            uncached_tokens=uncached_tokens,
            n_tokens=n_tokens,
            wait_ns=wait_ns,
            prefill_ns=prefill_ns,
            arrival_ns=arrival_ns,
            now_ns=now_ns,
        )
        return expression(columns)

    view, score = view_of(rows), Score(function)
    with np.errstate(all="ignore"):
        try:
            program = program_of(score)
        except NotPlainError:
            return
        wanted = np.broadcast_to(score.of(view), len(view))
        assert keys(program, view) == ordered(wanted)


def decides(hit_tokens):
    return hit_tokens if hit_tokens > 3 else 0


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (decides, "numpy.greater giving bool has no compiled form"),
        (lambda hit_tokens: hit_tokens if hit_tokens else 1, "decides by values"),
        (lambda hit_tokens: np.exp(hit_tokens), "numpy.exp giving float64"),
        (lambda hit_tokens: hit_tokens**2, "numpy.power"),
        (lambda hit_tokens: hit_tokens % 2, "numpy.remainder"),
        (lambda hit_tokens: hit_tokens // 2.0, "numpy.floor_divide giving float64"),
        (lambda hit_tokens: np.add.reduce(hit_tokens), "more than an operation on columns"),
        (lambda hit_tokens: hit_tokens + 2**70, "does not fit|too large|giving object"),
        (lambda hit_tokens: hit_tokens + np.arange(3), "broadcast"),
        (lambda hit_tokens: hit_tokens.astype(float), "AttributeError"),
        (lambda hit_tokens: 3, "the same for every request"),
        (lambda now_ns: now_ns, "the same for every request"),
        (lambda hit_tokens, now_ns: hit_tokens + now_ns / 3, "with the clock alone"),
        (lambda hit_tokens: hit_tokens + True, "is no number"),
        (lambda queue_length: queue_length, "it reads queue_length"),
    ],
)
def test_what_is_more_than_arithmetic_says_why(function, why):
    with pytest.raises(NotPlainError, match=why):
        program_of(Score(function))


def test_only_what_the_clock_changes_is_left_to_the_hook():
    program = program_of(Score(relative_score, (3, 10**9)))
    clocked = len(program.instructions) - program.steady
    assert (program.kept_ints, program.kept_floats) == (0, 2), "the hit's part and the patience"
    assert clocked == 8, "three loads, the wait, as a floating-point number, over the patience, and the sum's key"
    assert program_of(Score(reuse_ratio)).steady == len(program_of(Score(reuse_ratio)).instructions)


def test_every_rule_of_ours_is_compiled():
    assert [name for name in NAMES if plan_of(make_policy(name)) is None] == []

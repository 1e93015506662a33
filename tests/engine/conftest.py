"""Small engines and random workloads for them."""

import pytest
from hypothesis import strategies as st

from fairway.engine import Limits, Request, Scheduler
from fairway.policies import make_policy

BLOCK = 16


def prompt(*content: int, tail_tokens: int = 0) -> tuple[int, list[int]]:
    """Return (tokens, chain) of a prompt made of full blocks of this content and an unfinished one."""
    chain, parent = [], 0
    for block in content:
        parent = hash((parent, block)) & (2**62 - 1)  # hashes of ints do not depend on PYTHONHASHSEED
        chain.append(parent)
    return len(chain) * BLOCK + tail_tokens, chain


def request(request_id, content, tail_tokens=0, arrival_ns=0, output_tokens=1) -> Request:
    tokens, chain = prompt(*content, tail_tokens=tail_tokens)
    return Request(request_id, arrival_ns, tokens, output_tokens, list(chain), prefill_ns=prefill_time(tokens, 0))


def prefill_time(n_tokens: int, hit_tokens: int) -> int:
    """Return a T(n, h) that a few tokens make dear, each, and that grows faster than its tokens."""
    return 10_000_000 + (n_tokens - hit_tokens) * (100_000 + n_tokens)


def scheduler(policy="fcfs", cache_blocks=64, **limits) -> Scheduler:
    return Scheduler(make_policy(policy), Limits(cache_blocks, **limits), prefill_time=prefill_time)


# prompts over few distinct blocks: shared prefixes, exact repeats, prefixes of one another, multiples of 16
contents = st.lists(st.integers(1, 2), min_size=0, max_size=10)
prompts = st.tuples(contents, st.integers(0, 15)).filter(lambda pair: pair[0] or pair[1])
arrivals = st.lists(
    st.tuples(prompts, st.integers(0, 3), st.integers(1, 40)), min_size=1, max_size=40
)  # (prompt, steps since the last arrival, output tokens)


@pytest.fixture
def make_scheduler():
    return scheduler

"""The worked example as a trace: a miss and ten hits that arrive at once, oldest first, behind what they hit."""

from __future__ import annotations

import numpy as np

from fairway.exact.golden import miss_before_ten_hits
from fairway.traces import Trace

BLOCK_TOKENS = 16
PHASE = "example"
ABOUT = (
    "A miss M (6,000 tokens, none cached) is the oldest; ten hits H1 to H10 (6,300 tokens, 6,000 of them cached) stand "
    "behind it. Fairway releases five hits, until the fast lane's ledger exceeds the fair lane's, and then M. LPM puts "
    "M last, FCFS first."
)
ARRIVAL_NS = 2_000_000_000  # long after the request that fills the cache has been served
_END_NS = 6_000_000_000
_CACHE_BLOCKS = 12_970  # a 48 GB card at 0.9 with 16 GB of weights, 2 MiB a block: nothing is evicted


def worked_example() -> Trace:
    """Return the queue of the golden example, behind one request that leaves the shared prefix in the cache."""
    view = miss_before_ten_hits()
    shared_tokens = int(view.hit_tokens.max())
    shared = list(range(shared_tokens // BLOCK_TOKENS))
    prompts, unused = [shared], len(shared)
    for prompt_tokens, hit_tokens in zip(view.n_tokens.tolist(), view.hit_tokens.tolist(), strict=True):
        prefix = shared[: hit_tokens // BLOCK_TOKENS]
        own = -(-prompt_tokens // BLOCK_TOKENS) - len(prefix)
        prompts.append([*prefix, *range(unused, unused + own)])
        unused += own
    return Trace(
        arrival_ns=np.array([0, *[ARRIVAL_NS] * len(view)], dtype=np.int64),
        prompt_tokens=np.array([shared_tokens, *view.n_tokens.tolist()], dtype=np.int64),
        output_tokens=np.ones(1 + len(view), dtype=np.int64),
        block_ids=np.array([block for prompt in prompts for block in prompt], dtype=np.int32),
        block_offsets=np.cumsum([0, *map(len, prompts)], dtype=np.int64),
        block_tokens=BLOCK_TOKENS,
        kind=("earlier", *("hit" if hit else "miss" for hit in view.hit_tokens.tolist())),
        phase=("warm-up", *[PHASE] * len(view)),
        header={
            "workload": "worked-example",
            "corpus_kind": "worked by hand",
            "parameters": {
                "cache_blocks": _CACHE_BLOCKS,
                "phases": [
                    {"name": "warm-up", "start_ns": 0, "end_ns": ARRIVAL_NS},
                    {"name": PHASE, "start_ns": ARRIVAL_NS, "end_ns": _END_NS},
                ],
            },
        },
    )


def names() -> list[str]:
    """Return what the example calls its requests, in the trace's order."""
    hits = len(miss_before_ten_hits()) - 1
    return ["earlier", "M", *(f"H{number}" for number in range(1, hits + 1))]

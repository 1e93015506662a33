"""Makes the arrays of one replay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairway.core import layout as at
from fairway.core.blocks import Int32Array, Int64Array
from fairway.core.clock import Core
from fairway.core.formula import KEPT, Program
from fairway.core.hooks import HOOK_FIELDS, WORK_ROWS
from fairway.core.orders import LIST_ROWS
from fairway.core.plan import Plan
from fairway.core.prepared import Prepared
from fairway.core.queue import GROUP, Queue
from fairway.core.trie import ROOT, Trie
from fairway.core.victims import Worth
from fairway.engine import Limits


@dataclass(frozen=True)
class Tracked:
    """What has to be kept up to date beyond the cache."""

    hits: bool
    remaining: bool  # T(n, h)
    hooks: int  # rows of hooks that are written at once, 0 for none
    spared: bool  # what victims a policy wants spared


def make_core(
    prepared: Prepared, arrival_ns: Int64Array, head_ids: Int64Array, limits: Limits, plan: Plan, tracked: Tracked
) -> Core:
    """Return the arrays of a replay that has not begun. ``head_ids`` may be empty if nobody reads them."""
    requests = len(arrival_ns)
    segments, settings, state = _segments(prepared.trie, limits)
    _write_plan(settings, plan, tracked)
    settings[at.EVICTION] = _eviction(limits, tracked)
    state[at.POINTER] = plan.groups - 1
    measures = np.zeros(at.MEASURES)
    measures[at.FAST_WEIGHT] = plan.fast_weight
    places = requests if tracked.hooks else 0
    return Core(
        segments=segments,
        requests=_requests(prepared),
        path=prepared.trie.path,
        changed=np.empty(len(segments), dtype=np.int32),
        done=np.empty((2, min(limits.budget_tokens, limits.max_num_seqs) + 1), dtype=np.int32),
        state=state,
        settings=settings,
        measures=measures,
        facts=_facts(prepared, arrival_ns, head_ids),
        queue=_queue(requests, plan.program),
        times=prepared.times,
        turns=np.zeros((at.TURNS_ROWS, plan.groups), dtype=np.int64),
        listed=np.empty(requests if plan.rule == at.STANDING_LIST else 0, dtype=np.int64),
        list_room=np.empty((LIST_ROWS, min(plan.most_sorted, requests)), dtype=np.int64),
        worth=_worth(prepared.trie, int(settings[at.EVICTION]), len(segments), requests),
        hook_rows=np.empty((tracked.hooks, HOOK_FIELDS), dtype=np.int64),
        work=np.empty((WORK_ROWS, places), dtype=np.int64),
    )


def _write_plan(settings: Int64Array, plan: Plan, tracked: Tracked) -> None:
    program = plan.program
    settings[at.TRACKS_HITS], settings[at.TRACKS_REMAINING] = tracked.hits, tracked.remaining
    settings[at.RECORDS] = tracked.hooks > 0
    settings[at.RULE], settings[at.K] = plan.rule, plan.k
    settings[at.CHARGES_NEXT], settings[at.FAIR_RESTARTS] = plan.charges_next, plan.fair_restarts
    settings[at.FIXES_KEYS], settings[at.SPARED] = plan.fixes_keys, min(plan.spared, at.MOST)
    settings[at.SHARE], settings[at.OFFERS_ALL] = plan.share, plan.offers_all
    settings[at.COLD_HIT_TOKENS], settings[at.MOST_SORTED] = plan.cold_hit_tokens, min(plan.most_sorted, at.MOST)
    settings[at.BY_SCORE] = program is not None
    if program is not None:
        settings[at.STEADY], settings[at.CLOCKED] = program.steady, program.steady < len(program.instructions)
        settings[at.CLOCK_REGISTER] = program.clock_register


def _eviction(limits: Limits, tracked: Tracked) -> int:
    if limits.eviction == "pgdsf":
        return at.LEAST_WORTH
    return at.UNSPARED if tracked.spared else at.LEAST_RECENT


def _worth(trie: Trie, eviction: int, segments: int, requests: int) -> Worth:
    """Return what blocks are worth before anything has happened."""
    spares, values = eviction == at.UNSPARED, eviction == at.LEAST_WORTH
    blocks = int(trie.blocks.sum(dtype=np.int64)) if values else 0
    first_block = np.cumsum(trie.blocks, dtype=np.int64) - trie.blocks
    return Worth(
        needed=np.zeros((2, segments if spares else 0), dtype=np.int32),
        wanters=np.empty(requests if spares else 0, dtype=np.int64),
        keys=np.empty(requests if spares else 0, dtype=np.int64),
        first_block=first_block if values else np.empty(0, dtype=np.int64),
        children=np.zeros(len(trie.blocks) if values else 0, dtype=np.int32),
        counts=np.zeros((2, blocks), dtype=np.int32),
        values=np.zeros((2, blocks)),
    )


def _facts(prepared: Prepared, arrival_ns: Int64Array, head_ids: Int64Array) -> Int64Array:
    facts = np.full((at.FACTS, len(arrival_ns)), at.NONE, dtype=np.int64)
    facts[at.ARRIVAL_NS], facts[at.PREFILL_NS] = arrival_ns, prepared.prefill_ns
    if len(head_ids):
        facts[at.HEAD_ID] = head_ids
    facts[[at.HIT, at.REFUSED]] = 0
    return facts


def _segments(trie: Trie, limits: Limits) -> tuple[Int32Array, Int64Array, Int64Array]:
    """Return the segments of an empty cache, and settings and state as far as they follow from the sizes."""
    count = len(trie.blocks)
    copies = limits.cache_blocks if (trie.last_segment >= 0).any() else 0
    first_stop, first_copy, ends = count, 2 * count, 2 * count + copies
    rows = np.zeros((ends + 1, at.SEGMENT_FIELDS), dtype=np.int32)
    rows[:, [at.WAITERS, at.CHILDREN]] = at.NONE
    real, stops, spare = rows[:count], rows[first_stop:first_copy], rows[first_copy:ends]
    real[:, at.BLOCKS], real[:, at.PARENT] = trie.blocks, trie.parent
    real[:, at.START], real[:, at.LEVEL] = trie.start_block, trie.level
    real[:, at.OLDEST] = np.arange(count)
    real[trie.last_segment[trie.last_segment >= 0], at.OLDEST] = ROOT
    stops[:, at.BLOCKS], stops[:, at.PARENT] = 1, np.arange(count)
    stops[:, at.START], stops[:, at.LEVEL] = trie.start_block + trie.blocks, trie.level + 1
    spare[:, at.BLOCKS] = 1
    spare[:, at.BEHIND] = np.arange(first_copy + 1, ends + 1)
    rows[ends, [at.BEFORE, at.BEHIND]] = ends

    settings, state = np.zeros(at.SETTINGS_FIELDS, dtype=np.int64), np.zeros(at.STATE_FIELDS, dtype=np.int64)
    settings[at.BLOCK_TOKENS], settings[at.BUDGET_TOKENS] = limits.block_tokens, limits.budget_tokens
    settings[at.MAX_NUM_SEQS], settings[at.USABLE_TOKENS] = limits.max_num_seqs, limits.usable_tokens
    settings[at.FIRST_STOP], settings[at.FIRST_COPY], settings[at.LIST_ENDS] = first_stop, first_copy, ends
    state[at.FREE] = state[at.BLANK] = limits.cache_blocks - 1  # all but the null block
    state[at.SPARE_COPY] = first_copy
    state[at.PARTIAL] = at.NONE
    return rows, settings, state


def _requests(prepared: Prepared) -> Int32Array:
    trie = prepared.trie
    rows = np.empty((len(prepared.prompt_tokens), at.REQUEST_FIELDS), dtype=np.int32)
    rows[:, at.PATH], rows[:, at.SEGMENTS] = trie.path_start, trie.path_segments
    rows[:, at.LAST] = trie.last_segment
    rows[:, at.TOKENS] = np.minimum(prepared.prompt_tokens, np.iinfo(np.int32).max)  # such a one fits into no cache
    return rows


def _queue(requests: int, program: Program | None) -> Queue:
    kept_ints, kept_floats = (program.kept_ints, program.kept_floats) if program else (0, 0)
    return Queue(
        columns=np.empty((KEPT + kept_ints, requests), dtype=np.int64),
        reals=np.empty((kept_floats, requests)),
        groups=np.ones((2, requests // GROUP + 1), dtype=np.int64),
        program=program.instructions if program else np.empty((0, 4), dtype=np.int64),
        ints=program.ints if program else np.empty((0, 0), dtype=np.int64),
        floats=program.floats if program else np.empty((0, 0)),
    )

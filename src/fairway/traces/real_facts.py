"""The facts that embedded corpora follow, taken from real data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairway.traces.embedded_agents import AgentFacts, ContinuationFacts, FamilyFacts
from fairway.traces.facts import quantiles
from fairway.traces.questions import QuestionFacts, Questions
from fairway.traces.statistics import leading
from fairway.traces.ticks import tick_ns
from fairway.traces.trace import Trace

LENGTH_STEPS = 40
OTHER_STEPS = 20
NS_PER_MS = 1_000_000
COMMON_SHARE = 0.9  # a family's shared blocks are those that so many of its requests begin with
CONTINUING_SHARE = 0.05  # from this share on a family's requests are said to continue earlier ones


def question_facts(questions: Questions, source: str) -> QuestionFacts:
    """Take lengths and shared beginnings from real questions, all with as many paragraphs."""
    number = range(len(questions.question_paragraphs))
    seen: set[tuple[int, ...]] = set()
    depths = []
    for paragraphs in questions.question_paragraphs:
        beginnings = [paragraphs[: depth + 1] for depth in range(len(paragraphs))]
        depths.append(sum(beginning in seen for beginning in beginnings))
        seen.update(beginnings)
    return QuestionFacts(
        source=source,
        tokenizer=questions.tokenizer,
        questions=len(questions.question_tokens),
        paragraphs=max(map(len, questions.question_paragraphs)),
        question_tokens=quantiles(np.array(questions.question_tokens), OTHER_STEPS),
        paragraph_tokens=quantiles(np.array(questions.paragraph_tokens), LENGTH_STEPS),
        context_tokens=quantiles(np.array([questions.context_tokens(place) for place in number]), LENGTH_STEPS),
        matched_questions=tuple(np.bincount(depths).tolist()),
    )


def agent_facts(trace: Trace, source: str) -> AgentFacts:
    """Take rates, families and continuations from a real agent trace with quantised times.

    Requests are of one family if they begin with the same block.
    """
    tick = tick_ns(trace.arrival_ns)
    if tick is None:
        raise ValueError("the trace's times are not quantised")
    requests = _requests(trace)
    families: dict[int, list[_Request]] = defaultdict(list)
    for request in requests:
        families[request.block_ids[0]].append(request)
    by_size = sorted(families.values(), key=len, reverse=True)
    return AgentFacts(
        source=source,
        requests=len(requests),
        ticks=len(np.unique(trace.arrival_ns)),
        tick_ms=round(tick / NS_PER_MS),
        families=tuple(_family(members, place, trace.block_tokens) for place, members in enumerate(by_size, start=1)),
    )


class _Request(NamedTuple):
    time_ms: int
    prompt_tokens: int
    output_tokens: int
    block_ids: list[int]


class _Continuing(NamedTuple):
    """A request that has more in common with an earlier one than its family has."""

    lag_ms: int
    growth_tokens: int
    is_whole: bool  # it begins with all full blocks of the earlier one


def _requests(trace: Trace) -> list[_Request]:
    offsets = trace.block_offsets.tolist()
    return [
        _Request(
            int(trace.arrival_ns[place]) // NS_PER_MS,
            int(trace.prompt_tokens[place]),
            int(trace.output_tokens[place]),
            trace.block_ids[offsets[place] : offsets[place + 1]].tolist(),
        )
        for place in range(len(trace))
    ]


def _family(members: Sequence[_Request], place: int, block_tokens: int) -> FamilyFacts:
    shared_blocks = _shared_blocks(members)
    continuing = _continuing(members, shared_blocks, block_tokens)
    does_continue = len(continuing) >= CONTINUING_SHARE * len(members)
    first_ones = [member for place, member in enumerate(members) if not (does_continue and place in continuing)]
    return FamilyFacts(
        name=f"chat-{place}" if does_continue else f"agent-{place}",
        requests=len(members),
        shared_blocks=shared_blocks,
        prompt_tokens=quantiles(np.array([member.prompt_tokens for member in first_ones]), LENGTH_STEPS),
        output_tokens=quantiles(np.array([member.output_tokens for member in members]), OTHER_STEPS),
        continuation=_continuation(members, list(continuing.values())) if does_continue else None,
    )


def _shared_blocks(members: Sequence[_Request]) -> int:
    """Return how many leading blocks of a first request nearly all requests of its family have."""
    enough = COMMON_SHARE * len(members)
    depth = 0
    for block in members[0].block_ids:
        if sum(block in member.block_ids[depth : depth + 1] for member in members) < enough:
            break
        depth += 1
    return depth


def _continuing(members: Sequence[_Request], shared_blocks: int, block_tokens: int) -> dict[int, _Continuing]:
    """Return, by place, the requests that continue an earlier one; of several the last."""
    owner: dict[int, _Request] = {}
    found = {}
    for place, member in enumerate(members):
        known = leading(member.block_ids, owner)
        if known > shared_blocks:
            earlier = owner[member.block_ids[known - 1]]
            found[place] = _Continuing(
                member.time_ms - earlier.time_ms,
                member.prompt_tokens - earlier.prompt_tokens,
                known >= earlier.prompt_tokens // block_tokens,
            )
        owner |= dict.fromkeys(member.block_ids, member)
    return found


def _continuation(members: Sequence[_Request], continuing: Sequence[_Continuing]) -> ContinuationFacts:
    lags_ms = np.array([request.lag_ms for request in continuing])
    whole = [request for request in continuing if request.is_whole]
    # A request so soon after the trace's beginning that most lags reach before it can hardly continue another one.
    chances = sum(int((lags_ms <= member.time_ms).sum()) for member in members) / len(lags_ms)
    return ContinuationFacts(
        per_mille=round(1000 * len(continuing) / chances),
        lag_ms=quantiles(lags_ms, OTHER_STEPS),
        whole_per_mille=round(1000 * len(whole) / len(continuing)),
        growth_tokens=quantiles(np.array([max(0, request.growth_tokens) for request in whole]), OTHER_STEPS),
    )

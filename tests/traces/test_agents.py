import dataclasses
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fairway.errors import InputError
from fairway.traces import Trace, chains, write_trace
from fairway.traces.agent_trace import AgentTrace
from fairway.traces.agents import MooncakeContent
from fairway.traces.catalogue import Reference
from fairway.traces.corpus import make_corpus, read_corpus, write_corpus
from fairway.traces.draws import Draws
from fairway.traces.phased import Sequences
from fairway.traces.prompts import number_and_assemble
from fairway.traces.statistics import hit_shares
from fairway.traces.workload import PhasedWorkload

CONTENT = MooncakeContent("mooncake", longest_prompt_tokens=16_384, window_requests=1_000, ticks="spread")
RAW = dataclasses.replace(CONTENT, ticks="raw")


@pytest.fixture(scope="module")
def corpus() -> AgentTrace:
    made = make_corpus(1, "mooncake")
    assert isinstance(made, AgentTrace)
    return made


def small(lengths: list[int], times_ms: list[int], block_tokens: int = 512) -> AgentTrace:
    counts = [-(-length // block_tokens) for length in lengths]
    trace = Trace(
        arrival_ns=np.array(times_ms, dtype=np.int64) * 1_000_000,
        prompt_tokens=np.array(lengths, dtype=np.int64),
        output_tokens=np.ones(len(lengths), dtype=np.int64),
        block_ids=np.arange(sum(counts), dtype=np.int64),
        block_offsets=np.cumsum([0, *counts]),
        block_tokens=block_tokens,
        kind=("",) * len(lengths),
        phase=("",) * len(lengths),
    )
    return AgentTrace("small", 0, "none", trace)


def test_the_embedded_trace_has_families_with_shared_beginnings(corpus: AgentTrace) -> None:
    trace = corpus.trace
    first_blocks: dict[str, set[int]] = {}
    for kind, start in zip(trace.kind, trace.block_offsets[:-1].tolist(), strict=True):
        first_blocks.setdefault(kind, set()).add(int(trace.block_ids[start]))
    assert sorted(first_blocks) == ["agent-2", "agent-3", "chat-1"]
    assert all(len(blocks) == 1 for blocks in first_blocks.values())
    shares = {kind: count / len(trace) for kind, count in Counter(trace.kind).items()}
    assert shares == pytest.approx({"chat-1": 0.486, "agent-2": 0.361, "agent-3": 0.153}, abs=0.01)
    shared = {"agent-2": 12 * 512, "agent-3": 5 * 512}
    beginning = trace.first(4_000)
    hits = np.rint(hit_shares(beginning) * beginning.prompt_tokens)
    for kind, tokens in shared.items():
        of_kind = hits[np.array(beginning.kind) == kind]
        assert of_kind[0] == 0
        assert (of_kind[1:] == tokens).all()


def test_chats_continue_earlier_ones(corpus: AgentTrace) -> None:
    beginning = corpus.trace.first(4_000)
    hits = np.rint(hit_shares(beginning) * beginning.prompt_tokens)[np.array(beginning.kind) == "chat-1"]
    assert 0.2 < (hits > 512).mean() < 0.35


def test_the_embedded_trace_is_stamped_by_ticks_and_has_twenty_windows(corpus: AgentTrace) -> None:
    facts = CONTENT.provenance(corpus, 3)
    assert (facts["window"], facts["windows"]) == (3, 20)
    assert facts["tick_ns"] == 3_053_000_000
    assert facts["timestamps"] == "quantised, spread"
    assert facts["trace_requests"] == 24_000
    too_long = corpus.trace.prompt_tokens > 16_384
    assert facts["left_out_requests"] == too_long.sum()
    assert facts["left_out_tokens"] == corpus.trace.prompt_tokens[too_long].sum()
    assert 0.10 < too_long.mean() < 0.17


def test_windows_are_disjoint_and_go_round(corpus: AgentTrace) -> None:
    last_blocks = [
        {request.segments[-1] for request in CONTENT.requests(corpus, Draws(seed), 1_000)} for seed in (0, 1, 19)
    ]
    assert last_blocks[0] & last_blocks[1] == set()
    assert last_blocks[1] & last_blocks[2] == set()
    assert CONTENT.requests(corpus, Draws(20), 5) == CONTENT.requests(corpus, Draws(0), 5)


def test_no_prompt_is_too_long_and_lengths_and_sharing_are_the_trace_s(corpus: AgentTrace) -> None:
    requests = CONTENT.requests(corpus, Draws(0), 1_000)
    usable = corpus.trace.prompt_tokens[corpus.trace.prompt_tokens <= 16_384][:1_000]
    assert [request.prompt_tokens for request in requests] == usable.tolist()
    ours = number_and_assemble(requests, np.zeros(1_000, dtype=np.int64), [""] * 1_000, 1)
    kept = np.flatnonzero(corpus.trace.prompt_tokens <= 16_384)[:1_000].tolist()
    theirs = chains(corpus.trace.first(kept[-1] + 1), 16)
    seen_there, seen_here = set(), set()
    for place, here in zip(kept, chains(ours, 16), strict=True):
        there = theirs[place]
        assert sum(block in seen_there for block in there) == sum(block in seen_here for block in here)
        seen_there.update(there)
        seen_here.update(here)


@pytest.mark.parametrize("content", [CONTENT, RAW])
def test_arrivals_are_scaled_to_a_mean_rate_of_one(corpus: AgentTrace, content: MooncakeContent) -> None:
    for expected in (100.0, 640.7):
        units = content.unit_arrivals(corpus, 4, expected)
        assert len(units) == int(expected)
        assert units[0] == 0
        assert (np.diff(units) >= 0).all()
        assert units[-1] < int(expected)
    assert (len(np.unique(units)) == len(units)) == (content is CONTENT)


def test_the_spread_is_seeded_and_moves_nobody_out_of_order(corpus: AgentTrace) -> None:
    first, again, other = (CONTENT.unit_arrivals(corpus, seed, 300.0) for seed in (4, 4, 24))
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()  # the same window, spread with another seed


def test_a_short_trace_is_one_window() -> None:
    corpus = small([600, 600, 20_000, 600], [0, 3000, 3000, 6000])
    assert CONTENT.provenance(corpus, 7)["windows"] == 1
    assert len(CONTENT.requests(corpus, Draws(7), 3)) == 3
    assert CONTENT.unit_arrivals(corpus, 7, 3.9).tolist()[0] == 0
    with pytest.raises(InputError, match="window 0 of the agent trace has 3 requests, 4 are needed"):
        CONTENT.requests(corpus, Draws(7), 4)
    with pytest.raises(InputError, match="has 3 requests, 4 are needed"):
        CONTENT.unit_arrivals(corpus, 7, 4.2)


@pytest.mark.parametrize("rate_1_per_s", [0.7, 1 / 3, 123.456789])
def test_a_phase_of_the_rest_ends_with_the_window(root: Path, rate_1_per_s: float) -> None:
    corpus = small([600] * 997, [3000 * (place // 7) for place in range(997)])
    whole = Reference.parse(f"{root}/config/workloads/mooncake-0.9.yaml#whole-0.9").load()
    assert isinstance(whole, PhasedWorkload)
    trace = Sequences(whole, corpus, 2).in_phases(rate_1_per_s, None)
    assert (len(trace), set(trace.phase)) == (997, {"measured"})
    first = dataclasses.replace(whole.phases[0], name="first", seconds=100)
    two = dataclasses.replace(whole, phases=(first, *whole.phases))
    if rate_1_per_s < 10:
        assert len(Sequences(two, corpus, 2).in_phases(rate_1_per_s, None)) == 997
    else:
        with pytest.raises(InputError, match="has 997 requests, none for its last phase"):
            Sequences(two, corpus, 2).in_phases(rate_1_per_s, None)
    endless = Reference.parse(f"{root}/config/workloads/sec-short-0.9.yaml").load()
    assert isinstance(endless, PhasedWorkload)
    with pytest.raises(InputError, match="its requests never end"):
        Sequences(dataclasses.replace(endless, phases=whole.phases), make_corpus(1), 2).in_phases(1.0, None)


def test_unquantised_times_are_left_alone() -> None:
    corpus = small([600, 600, 600], [0, 2000, 3000])
    assert CONTENT.provenance(corpus, 0)["timestamps"] == "not quantised"
    assert CONTENT.unit_arrivals(corpus, 0, 2.0).tolist() == [0.0, 2000 * 2 / 3000]


def test_a_trace_of_long_prompts_alone_is_refused() -> None:
    with pytest.raises(InputError, match="no prompt of the agent trace has 16384 tokens or fewer"):
        CONTENT.requests(small([20_000], [0]), Draws(0), 1)


def test_a_partial_last_block_is_part_of_a_longer_one_only_as_itself() -> None:
    request = CONTENT.requests(small([1_000], [0]), Draws(0), 1)[0]
    assert [segment.tokens for segment in request.segments] == [512, 488]


def test_reading_gives_back_what_was_written(tmp_path: Path, corpus: AgentTrace) -> None:
    write_corpus(corpus, tmp_path / "mooncake.jsonl")
    read = read_corpus(tmp_path / "mooncake.jsonl")
    assert isinstance(read, AgentTrace)
    assert (read.kind, read.seed, read.sha256()) == ("embedded", 1, corpus.sha256())
    assert read.trace.header["sha256"] == corpus.sha256()
    assert read.trace.block_ids.tolist() == corpus.trace.block_ids.tolist()


def test_a_public_trace_has_no_header_and_says_so(tmp_path: Path, corpus: AgentTrace) -> None:
    write_trace(corpus.trace.first(50), tmp_path / "public.jsonl")
    (tmp_path / "public.header.json").unlink()
    assert read_corpus(tmp_path / "public.jsonl").kind == "public trace"


def test_seeds_give_different_traces(corpus: AgentTrace) -> None:
    assert make_corpus(1, "mooncake").sha256() == corpus.sha256() != make_corpus(2, "mooncake").sha256()

from pathlib import Path

from fairway.traces import chains, head_ids, read_trace
from fairway.traces.description import describe_trace


def test_the_conversation_trace_is_read_whole(real_data: Path) -> None:
    trace = read_trace(real_data / "mooncake" / "conversation_trace.jsonl")
    description = describe_trace(trace)
    assert description.requests == 12_031
    assert int((trace.prompt_tokens > 16_384).sum()) == 2_731
    assert 3_000 < description.span_s < 4_000
    assert trace.prompt_tokens[11] == 87_169
    assert [len(chain) for chain in chains(trace, 16)] == (trace.prompt_tokens // 16).tolist()


def test_the_agent_trace_s_prefix_families_are_found(real_data: Path) -> None:
    trace = read_trace(real_data / "mooncake" / "mooncake_trace_1000.jsonl")
    heads = head_ids(trace).tolist()
    families = sorted((heads.count(head) for head in set(heads)), reverse=True)
    assert families == [486, 361, 153]

"""Public traces: their formats, units and faults, and one verdict for each row."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.errors import InputError
from fairway.traces import read_trace, write_trace
from fairway.traces.description import describe_trace
from fairway.traces.imported import import_trace
from fairway.traces.public_formats import FORMATS
from fairway.traces.row import Row
from fairway.traces.screening import ScreeningRule, counts
from fairway.traces.statistics import hit_shares

RULE = ScreeningRule()
LFS_POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{0:064d}\nsize 132054902\n"
MOONCAKE = [
    {"timestamp": 3000 * place, "input_length": 600, "output_length": 5, "hash_ids": [0, 1 + place]}
    for place in range(3)
]
BAILIAN = [
    {
        "chat_id": 1 + place,
        "parent_chat_id": -1,
        "timestamp": 3.0 * place,
        "input_length": 20,
        "output_length": 5,
        "type": "text",
        "turn": 1,
        "hash_ids": [0, 1 + place],
    }
    for place in range(3)
]
AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:00:00.0010000,100,5
2023-11-16 18:00:00.0020000,900,5
2023-11-16 18:00:00.0090000,100,5
2023-11-16 18:00:00.0110000,400,5
2023-11-16 18:00:01,100,5
2023-11-16T18:00:01.25Z,100,5
"""
BURSTGPT = """Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45,ChatGPT,1087,230,1317,Conversation log
45,GPT-4,417,0,417,Conversation log
118.5,ChatGPT,20,1,21,API log
"""


@pytest.fixture
def write(tmp_path: Path):
    def write_file(content: object) -> Path:
        path = tmp_path / "public"
        text = content if isinstance(content, str) else "".join(f"{json.dumps(row)}\n" for row in content)
        path.write_text(text, encoding="utf-8")
        return path

    return write_file


def test_milliseconds_and_seconds_give_the_same_span(write) -> None:
    for name, rows, unit in (("mooncake", MOONCAKE, "milliseconds"), ("bailian", BAILIAN, "seconds")):
        trace = import_trace(write(rows), name, RULE).trace
        assert trace.arrival_ns.tolist() == [0, 3_000_000_000, 6_000_000_000]
        assert str(describe_trace(trace)) == f"3 requests over 6.000 s, 0.333 requests/s (times in {unit})"


def test_one_format_read_as_the_other_is_refused(write) -> None:
    with pytest.raises(InputError, match=r":1: 20 tokens make 1 blocks of 512, but 'hash_ids' has 2"):
        import_trace(write(BAILIAN), "mooncake", RULE)
    with pytest.raises(InputError, match=r":1: 600 tokens make 38 blocks of 16, but 'hash_ids' has 2"):
        import_trace(write(MOONCAKE), "bailian", RULE)


def test_azure_s_times_are_exact_and_nothing_is_shared(write) -> None:
    trace = import_trace(write(AZURE), "azure", RULE).trace
    assert [time / 1_000_000 for time in trace.arrival_ns.tolist()] == [0, 1, 8, 10, 999, 1249]
    assert trace.prompt_tokens.tolist() == [100, 900, 100, 400, 100, 100]
    assert trace.header["reuse_information"] is False
    assert hit_shares(trace).max() == 0
    assert len(set(trace.block_ids.tolist())) == len(trace.block_ids)


def test_times_that_rounding_puts_together_keep_their_order_and_are_counted(write) -> None:
    rows = [f"2023-11-16 18:00:00.000{digits},{tokens},5" for digits, tokens in (("0010", 7), ("0015", 9), ("0020", 8))]
    trace = import_trace(write(azure(*rows)), "azure", RULE).trace
    assert trace.arrival_ns.tolist() == [0, 0, 1000]
    assert trace.prompt_tokens.tolist() == [7, 9, 8]
    assert trace.header["rounded_together"] == 1
    assert "rounded_together" not in import_trace(write(AZURE), "azure", RULE).trace.header


def test_formats_with_ids_say_that_they_have_them(write) -> None:
    assert import_trace(write(BAILIAN), "bailian", RULE).trace.header["reuse_information"] is True


def test_burstgpt_keeps_the_order_of_one_second_and_its_failures_follow_the_rule(write) -> None:
    imported = import_trace(write(BURSTGPT), "burstgpt", RULE)
    assert imported.trace.arrival_ns.tolist() == [0, 40_000_000_000, 113_500_000_000]
    assert imported.verdicts[4].verdict == "excluded"
    served = import_trace(write(BURSTGPT), "burstgpt", ScreeningRule(failures_as_prefill=True)).trace
    assert served.prompt_tokens.tolist() == [472, 1087, 417, 20]
    assert served.output_tokens.tolist() == [18, 230, 1, 1]


@pytest.mark.parametrize("name", FORMATS)
def test_a_git_lfs_pointer_is_named_in_every_format(write, name: str) -> None:
    with pytest.raises(InputError, match="Git LFS pointer to a file of 132,054,902 bytes") as caught:
        import_trace(write(LFS_POINTER), name, RULE)
    assert "git lfs pull" in caught.value.remedy


def test_quantised_times_are_said_and_left_as_they_are(write) -> None:
    rows = [MOONCAKE[0] | {"timestamp": time} for time in (0, 3000, 3000, 3000, 5999, 9000)]
    trace = import_trace(write(rows), "mooncake", RULE).trace
    assert trace.header["tick_ns"] == 3_000_000_000
    assert (trace.arrival_ns // 1_000_000).tolist() == [0, 3000, 3000, 3000, 5999, 9000]
    assert str(describe_trace(trace)).endswith("(times in milliseconds, quantised in ticks of 3.000 s)")
    assert import_trace(write(MOONCAKE), "mooncake", RULE).trace.header["tick_ns"] is None


def test_every_row_gets_one_verdict(write) -> None:
    lengths = [(87_169, 402), (0, 5), (600, 0), (32_760, 400), (600, 5)]
    rows = [
        {
            "timestamp": place,
            "input_length": prompt,
            "output_length": output,
            "hash_ids": list(range(-(-prompt // 512))),
        }
        for place, (prompt, output) in enumerate(lengths)
    ]
    imported = import_trace(write(rows), "mooncake", ScreeningRule(max_model_tokens=32_768))
    assert [imported.verdicts[line].verdict for line in range(1, 6)] == [
        "excluded",
        "excluded",
        "excluded",
        "truncated",
        "served",
    ]
    assert imported.trace.output_tokens.tolist() == [8, 5]
    assert imported.trace.arrival_ns.tolist() == [3_000_000, 4_000_000]
    summary = imported.trace.header["screening"]["counts"]
    assert sum(count["requests"] for count in summary.values()) == 5
    assert summary["excluded: prompt leaves no room for output in 32768 tokens"] == {
        "requests": 1,
        "prompt_tokens": 87_169,
    }
    assert imported.verdict_table().splitlines()[:3] == [
        "line,verdict,reason",
        "1,excluded,prompt leaves no room for output in 32768 tokens",
        "2,excluded,empty prompt",
    ]


@given(
    prompt=st.integers(0, 50), output=st.integers(0, 50), limit=st.none() | st.integers(1, 60), prefill=st.booleans()
)
def test_what_is_served_fits(prompt: int, output: int, limit: int | None, prefill: bool) -> None:
    verdict = ScreeningRule(limit, prefill).verdict(Row(0, prompt, output, [], "", ""))
    if verdict.verdict == "excluded":
        assert prompt == 0 or (output == 0 and not prefill) or (limit is not None and prompt >= limit)
        return
    assert prompt >= 1
    assert 1 <= verdict.output_tokens <= max(output, 1)
    assert limit is None or prompt + verdict.output_tokens <= limit
    assert (verdict.verdict == "truncated") == (verdict.output_tokens < output)
    assert counts([(prompt, verdict)])


def test_what_was_imported_is_read_back(write, tmp_path: Path) -> None:
    trace = import_trace(write(AZURE), "azure", RULE).trace
    write_trace(trace, tmp_path / "az.jsonl")
    read = read_trace(tmp_path / "az.jsonl")
    assert read.arrival_ns.tolist() == trace.arrival_ns.tolist()
    assert read.header["reuse_information"] is False
    assert read.header["screening"]["counts"] == {"served": {"requests": 6, "prompt_tokens": 1700}}


def azure(*rows: str) -> str:
    return "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(f"{row}\n" for row in rows)


GOOD = "2023-11-16 18:00:01,100,5"


@pytest.mark.parametrize(
    ("name", "content", "line", "problem"),
    [
        ("azure", azure(GOOD, "2023-11-16 18:00:00,100,5"), 3, "earlier than the line before"),
        ("azure", azure(GOOD, "2023-11-16 25:00:00,100,5"), 3, "no time"),
        ("azure", azure(GOOD, "2023-02-30 18:00:00,100,5"), 3, "no time"),
        ("azure", azure(GOOD, ",100,5"), 3, "'' no time|'', no time"),
        ("azure", azure(GOOD, "NaN,100,5"), 3, "no time"),
        ("azure", azure(GOOD, "2023-11-16 18:00:02+02:00,100,5"), 3, "no time"),
        ("azure", azure(GOOD, "2023-11-16 18:00:02,100"), 3, "2 cells"),
        ("azure", azure(GOOD, "2023-11-16 18:00:02,-1,5"), 3, "'ContextTokens' is '-1'"),
        ("azure", azure(GOOD, "2023-11-16 18:00:02,1e3,5"), 3, "'ContextTokens' is '1e3'"),
        ("azure", azure(GOOD, "2023-11-16 18:00:02,\u0663,5"), 3, "'ContextTokens'"),
        ("azure", azure(GOOD, ""), 3, "blank"),
        ("azure", azure(GOOD, '"2023-11-16'), 3, "not CSV"),
        ("azure", "TIMESTAMP,Context\n", 1, "column 'ContextTokens' is missing"),
        ("burstgpt", BURSTGPT + "nan,x,1,1,2,y\n", 6, "no time"),
        ("burstgpt", BURSTGPT + "inf,x,1,1,2,y\n", 6, "no time"),
        ("burstgpt", BURSTGPT + "-1,x,1,1,2,y\n", 6, "no time"),
        ("burstgpt", BURSTGPT + "1e40,x,1,1,2,y\n", 6, "no time"),
        ("burstgpt", BURSTGPT + "1_000,x,1,1,2,y\n", 6, "no time"),
        ("burstgpt", BURSTGPT + "\u0663\u0660\u0660,x,1,1,2,y\n", 6, "no time"),
        ("burstgpt", AZURE, 1, "column 'Timestamp' is missing"),
        ("mooncake", [*MOONCAKE, MOONCAKE[0]], 4, "earlier than the line before"),
        ("bailian", [BAILIAN[0] | {"timestamp": -1}], 1, "negative"),
        ("bailian", [BAILIAN[0] | {"timestamp": 1e12}], 1, "too large"),
        ("bailian", [BAILIAN[0] | {"timestamp": None}], 1, "give seconds"),
        ("mooncake", [MOONCAKE[0] | {"input_length": -1, "hash_ids": []}], 1, "'input_length' is -1"),
    ],
)
def test_a_wrong_row_is_refused_with_its_line(write, name: str, content: object, line: int, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        import_trace(write(content), name, RULE)
    assert caught.value.line == line


def test_a_trace_without_a_request_that_can_be_served_is_refused(write) -> None:
    for name, content in (("azure", azure()), ("mooncake", ""), ("azure", azure("2023-11-16 18:00:01,100,0"))):
        with pytest.raises(InputError, match="no request of the trace can be served"):
            import_trace(write(content), name, RULE)


@given(
    name=st.sampled_from(sorted(FORMATS)),
    cut=st.integers(0, 200),
    noise=st.binary(max_size=20),
    place=st.integers(0, 200),
)
def test_damaged_files_are_refused_or_read_never_worse(
    tmp_path_factory: pytest.TempPathFactory, name: str, cut: int, noise: bytes, place: int
) -> None:
    texts = {
        "mooncake": "".join(f"{json.dumps(row)}\n" for row in MOONCAKE),
        "bailian": "".join(f"{json.dumps(row)}\n" for row in BAILIAN),
        "azure": AZURE,
        "burstgpt": BURSTGPT,
    }
    good = texts[name].encode("utf-8")
    path = tmp_path_factory.mktemp("damaged") / "public"
    path.write_bytes(good[: len(good) - cut][:place] + noise + good[: len(good) - cut][place:])
    try:
        trace = import_trace(path, name, RULE).trace
    except InputError as error:
        assert error.remedy
    else:
        assert trace.prompt_tokens.min() >= 1
        assert (trace.arrival_ns >= 0).all()


def test_the_script_writes_trace_header_and_verdicts_or_nothing(tmp_path: Path, root: Path) -> None:
    (tmp_path / "az.csv").write_text(AZURE, encoding="utf-8")
    (tmp_path / "bad.csv").write_text(AZURE + "x\n", encoding="utf-8")
    (tmp_path / "out").mkdir()

    def run(name: str, out: str = "out/az.jsonl") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                *(sys.executable, str(root / "scripts/import_trace.py"), "--format", "azure"),
                *("--trace", name, "--max-model-tokens", "500", "--out", out),
            ],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(root / "src")},
            check=False,
            capture_output=True,
            encoding="utf-8",
        )

    refused = run("bad.csv")
    assert (refused.returncode, list((tmp_path / "out").iterdir())) == (2, [])
    assert refused.stderr.startswith("error: bad.csv:8: ")
    for header in ("az.parquet.header.json", "az.header.json"):  # what is written beside a trace is no input of it
        (tmp_path / header).write_text(AZURE, encoding="utf-8")
        refused = run(header, "az.parquet" if "parquet" in header else "az.jsonl")
        assert (refused.returncode, refused.stderr.startswith(f"error: {header}: is the file to be read")) == (2, True)
        assert (tmp_path / header).read_text(encoding="utf-8") == AZURE
        (tmp_path / header).unlink()
    (tmp_path / "out/full.header.json").mkdir()
    refused = run("az.csv", "out/full.jsonl")
    assert (refused.returncode, len(list((tmp_path / "out").iterdir()))) == (2, 1), "nothing half-written"
    (tmp_path / "out/full.header.json").rmdir()
    for out in (".", "", "out"):
        refused = run("az.csv", out)
        assert (refused.returncode, list((tmp_path / "out").iterdir())) == (2, [])
        assert f"{out!r} is no file" in refused.stderr
    done = run("az.csv")
    assert done.returncode == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "az.header.json",
        "az.jsonl",
        "az.verdicts.csv",
    ]
    assert "excluded: prompt leaves no room for output in 500 tokens: 1 requests, 900 prompt tokens" in done.stdout
    assert len(read_trace(tmp_path / "out/az.jsonl")) == 5

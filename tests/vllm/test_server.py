"""Thousands of requests over HTTP with random aborts, with the plugin and without: nobody lost, the same outputs."""

import asyncio
import os
import random
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import numpy as np
import pytest

from fairway.engine import Limits
from fairway.serving import Serving, running_server
from fairway.serving.wall_replay import measure
from fairway.traces import read_trace

pytestmark = pytest.mark.slow

REQUESTS = 5_000
LIMITS = Limits(cache_blocks=400, budget_tokens=2_048, max_num_seqs=64, block_tokens=32)
CLOSE = 1e-3  # between the two best logits: then another batch may round to another token


@dataclass(frozen=True)
class Call:
    prompt: np.ndarray
    output_tokens: int
    wait_s: float  # before it is sent
    abort_after_s: float | None


def calls(count: int) -> list[Call]:
    """Return requests over a few documents, a fifth of which are aborted at random."""
    draw = random.Random(1)
    documents = [np.arange(2_000 + 600 * place, 2_000 + 600 * place + 512, dtype=np.int32) for place in range(8)]
    found = []
    for number in range(count):
        kept = draw.choice([0, 64, 256, 512])
        own = 20_000 + np.array([number // 100, number % 100, *range(draw.randrange(1, 60))], dtype=np.int32)
        found.append(
            Call(
                np.concatenate([draw.choice(documents)[:kept], own]),
                draw.choice([1, 1, 2, 8]),
                draw.expovariate(200.0),
                draw.uniform(0, 1.0) if draw.random() < 0.2 else None,
            )
        )
    return found


@dataclass(frozen=True)
class Output:
    """Greedy tokens, and at each the distance between the two best log-probabilities."""

    tokens: list[int]
    margins: list[float]


async def generate(session, url, call: Call) -> Output | None:
    """Return what the server made of a call, or None if we aborted it."""
    body = {
        "token_ids": call.prompt.tolist(),
        "sampling_params": {
            **{"max_tokens": call.output_tokens, "min_tokens": call.output_tokens, "ignore_eos": True},
            **{"temperature": 0, "logprobs": 2, "detokenize": False},
        },
    }
    try:
        async with asyncio.timeout(call.abort_after_s):
            async with session.post(f"{url}/inference/v1/generate", json=body) as response:
                assert response.status == 200, await response.text()
                (choice,) = (await response.json())["choices"]
    except TimeoutError:
        return None
    best = [
        sorted((one["logprob"] for one in step["top_logprobs"]), reverse=True) for step in choice["logprobs"]["content"]
    ]
    return Output(choice["token_ids"], [values[0] - values[1] for values in best])


async def send_all(url, listed: list[Call]) -> list[Output | None]:
    connections = aiohttp.TCPConnector(limit=0, force_close=True)
    async with aiohttp.ClientSession(connector=connections, timeout=aiohttp.ClientTimeout(total=None)) as session:
        tasks = []
        for call in listed:
            await asyncio.sleep(call.wait_s)
            tasks.append(asyncio.create_task(generate(session, url, call)))
        return await asyncio.gather(*tasks)


def packages(folder: Path) -> str:
    """Write what an installed package leaves that brings a policy which raises."""
    (folder / "planted.py").write_text(
        "from fairway.policies import Policy\n\n\n"
        "class Planted(Policy):\n"
        "    def order(self, view):\n"
        "        raise ZeroDivisionError('planted')\n",
        encoding="utf-8",
    )
    metadata = folder / "planted-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text("[fairway.policies]\nplanted = planted:Planted\n", encoding="utf-8")
    return str(folder)


def served(policy: str | None, folder: Path, listed: list[Call]) -> tuple[list[Output | None], dict[str, float], str]:
    """Return the outputs, the server's metrics at the end and its log."""
    serving = Serving(LIMITS, policy, max_model_len=4_096, more=("--enable-scale-out", "--max-logprobs", "2"))
    with running_server(serving, folder / f"{policy}.log") as server:
        outputs = asyncio.run(send_all(server.url, listed))
        for _ in range(100):
            metrics = server.metrics()
            if not metrics["vllm:num_requests_running"] + metrics["vllm:num_requests_waiting"]:
                break
        server.reset_prefix_cache()  # which vLLM refuses while a block is held
    return outputs, metrics, server.log.read_text(encoding="utf-8")


def check(listed: list[Call], outputs: list[Output | None], metrics: dict[str, float]) -> None:
    """Nobody is lost, served twice or left behind; no block is."""
    for call, output in zip(listed, outputs, strict=True):
        assert output is not None or call.abort_after_s is not None
        assert output is None or len(output.tokens) == call.output_tokens
    answered = sum(output is not None for output in outputs)
    finished = metrics["vllm:request_success_total"]
    assert answered <= finished <= len(listed), "what was aborted before it was known counts nowhere"
    assert metrics["vllm:num_requests_running"] == metrics["vllm:num_requests_waiting"] == 0
    assert metrics["vllm:kv_cache_usage_perc"] == 0


@pytest.fixture(scope="module")
def listed():
    return calls(int(os.environ.get("FAIRWAY_HTTP_REQUESTS", REQUESTS)))


@pytest.fixture(scope="module")
def plain(listed, tmp_path_factory):
    """vLLM as it ships."""
    return served(None, tmp_path_factory.mktemp("plain"), listed)


def test_vllm_itself(plain, listed):
    check(listed, plain[0], plain[1])


@pytest.mark.parametrize("policy", ["fairway", "planted"])
def test_with_the_plugin(policy, plain, listed, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(packages(tmp_path))
    outputs, metrics, log = served(policy, tmp_path, listed)
    check(listed, outputs, metrics)
    raised = policy == "planted"
    orders = metrics["fairway:order_time_seconds_count"]
    assert orders > 0
    assert metrics["fairway:fallbacks_total"] == (orders if raised else 0)
    assert log.count("ordering failed") == raised
    assert ("ZeroDivisionError: planted" in log) == raised
    both = [pair for pair in zip(plain[0], outputs, strict=True) if None not in pair]
    assert len(both) >= 0.7 * len(listed)
    for before, after in both:
        parted = next(
            (place for place, pair in enumerate(zip(before.tokens, after.tokens, strict=True)) if pair[0] != pair[1]),
            None,
        )
        if parted is not None:
            assert min(before.margins[parted], after.margins[parted]) <= CLOSE


def test_a_trace_s_shared_block_is_a_hit_of_that_length(tmp_path):
    """Two requests share a block of 512 tokens: the server counts 1,024 of each, and 512 of the second as cached."""
    file = tmp_path / "trace.jsonl"
    file.write_text(
        '{"timestamp": 0, "input_length": 1024, "output_length": 1, "hash_ids": [0, 1]}\n'
        '{"timestamp": 2000, "input_length": 1024, "output_length": 1, "hash_ids": [0, 2]}\n',
        encoding="utf-8",
    )
    with running_server(Serving(LIMITS, "fairway", max_model_len=4_096), tmp_path / "log") as server:
        found = measure(read_trace(file), server)
    assert not found.refusals
    assert found.hit_tokens.tolist() == [0, 512], "and it refuses a server that counts other prompts"

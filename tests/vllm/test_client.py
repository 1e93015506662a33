"""The client against a server that does as it is told: times, counts, failures, prompts."""

import asyncio
import hashlib
import json
import runpy
import shutil
import threading
import types
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import aiohttp
import numpy as np
import pytest
from aiohttp import web

import fairway.profile
from fairway.engine import Limits
from fairway.errors import InputError
from fairway.measuring import run_stage
from fairway.measuring.lone import fit
from fairway.profile import load_profile, sha256_of_profile
from fairway.rows import MEASUREMENT, read_requests, read_runs
from fairway.serving import RunningServer, Serving, pool, wall_replay
from fairway.serving.client import ask, completion_body
from fairway.serving.pool import Servers
from fairway.serving.prompts import FIRST_TOKEN, ORDINARY_TOKENS, token_ids
from fairway.serving.server import free_port
from fairway.serving.wall_replay import measure
from fairway.traces import Trace, chains, write_trace

MS = 1_000_000
PROFILE_FILE = Path(fairway.profile.__file__).parent / "data/a6000-llama-3.1-8b-modelled.toml"


def trace(*rows, block_tokens=16, header=None) -> Trace:
    """Rows of (arrival in ms, prompt tokens, output tokens, ids)."""
    return Trace(
        arrival_ns=np.array([row[0] * MS for row in rows], dtype=np.int64),
        prompt_tokens=np.array([row[1] for row in rows], dtype=np.int64),
        output_tokens=np.array([row[2] for row in rows], dtype=np.int64),
        block_ids=np.array([block_id for row in rows for block_id in row[3]], dtype=np.int64),
        block_offsets=np.cumsum([0, *(len(row[3]) for row in rows)]),
        block_tokens=block_tokens,
        kind=("",) * len(rows),
        phase=("",) * len(rows),
        header=header or {},
    )


class Scripted:
    """Answers after ``delay_s`` with a token every ``gap_s``; what it counts may be falsified."""

    times_steps = True

    def __init__(self, delay_s=0.05, gap_s=0.02):
        self.delay_s, self.gap_s = delay_s, gap_s
        self.bodies: list[dict] = []
        self.dropped = self.resets = 0
        self.counts_more = 0
        self.fails = False

    def application(self):
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/v1/completions", self.complete)
        app.router.add_post("/reset_prefix_cache", self.reset)
        app.router.add_get("/metrics", self.metrics)
        return app

    async def complete(self, request):
        body = await request.json()
        self.bodies.append(body)
        if self.fails:
            return web.Response(status=500, text="no")
        answer = web.StreamResponse()
        await answer.prepare(request)
        try:
            await asyncio.sleep(self.delay_s)
            for _ in range(body["max_tokens"]):
                await answer.write(b'data: {"choices": [{"text": ""}]}\n\n')
                await asyncio.sleep(self.gap_s)
            usage = {
                "prompt_tokens": len(body["prompt"]) + self.counts_more,
                "completion_tokens": body["max_tokens"],
                "prompt_tokens_details": {"cached_tokens": 16},
            }
            await answer.write(f"data: {json.dumps({'choices': [], 'usage': usage})}\n\ndata: [DONE]\n\n".encode())
        except (ConnectionError, asyncio.CancelledError):
            self.dropped += 1
            raise
        return answer

    async def reset(self, request):
        self.resets += 1
        return web.json_response({"success": self.resets > 1})  # at first something still runs

    async def metrics(self, request):
        counted = {
            "vllm:num_preemptions_total": 3 * self.resets,
            "fairway:step_seconds_total": 1.1 * len(self.bodies),
            "fairway:step_profile_seconds_total": len(self.bodies) if self.times_steps else 0,
        }
        lines = [f'{name}{{engine="0"}} {value}\n' for name, value in counted.items()]
        return web.Response(text=f"# HELP x\n{''.join(lines)}")


@contextmanager
def served(script: Scripted, log: Path):
    loop = asyncio.new_event_loop()
    runner = web.AppRunner(script.application(), handler_cancellation=True)

    async def start():
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        return runner.addresses[0][1]

    port = loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    log.write_text("started\n", encoding="utf-8")
    try:
        yield RunningServer(Serving(Limits(100), "fcfs", max_model_len=2_000), f"http://127.0.0.1:{port}", log)
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


THREE = trace((0, 40, 1, [1, 2, 3]), (100, 48, 3, [1, 2, 4]), (100, 32, 1, [1, 2]))


def test_times_are_those_of_the_client(tmp_path):
    with served(Scripted(delay_s=0.05, gap_s=0.02), tmp_path / "log") as server:
        measured = measure(THREE, server)
    ttft_ms = (measured.first_token_ns - THREE.arrival_ns) / MS
    assert (ttft_ms >= 50).all()
    assert (ttft_ms < 1_000).all(), "requests do not wait for one another"
    assert (measured.late_ns >= 0).all()
    assert len(measured.token_gap_ns) == 2
    assert (measured.token_gap_ns >= 15 * MS).all()
    assert measured.hit_tokens.tolist() == [16, 16, 16]
    assert measured.preemptions == 0
    assert measured.finish_ns[1] >= measured.first_token_ns[1] + 35 * MS


def test_prompts_go_as_token_ids_and_the_cache_is_emptied_first(tmp_path):
    script = Scripted(delay_s=0)
    with served(script, tmp_path / "log") as server:
        measure(THREE, server)
    assert script.resets == 2, "asked again until it was done"
    sent = {len(body["prompt"]): body["prompt"] for body in script.bodies}
    assert {tokens: sent[tokens] for tokens in sent} == {len(ids): ids.tolist() for ids in token_ids(THREE)}
    assert all(body["temperature"] == 0 and body["ignore_eos"] for body in script.bodies)


def test_what_can_never_fit_is_not_sent(tmp_path):
    too_long = trace((0, 40, 1, [1, 2, 3]), (1, 1_700, 1, range(107)), (2, 1_500, 600, range(94)), block_tokens=16)
    script = Scripted(delay_s=0)
    with served(script, tmp_path / "log") as server:
        measured = measure(too_long, server)
    assert len(script.bodies) == 1
    assert measured.refused.tolist() == [False, True, True]
    assert "cache, which holds 1584" in measured.refusals[0]


def test_another_count_of_tokens_ends_the_measurement(tmp_path):
    script = Scripted(delay_s=0)
    script.counts_more = 1
    with served(script, tmp_path / "log") as server, pytest.raises(InputError, match="the server counted 41 and 1"):
        measure(THREE, server)


def test_a_failed_request_ends_the_measurement(tmp_path):
    script = Scripted()
    script.fails = True
    with served(script, tmp_path / "log") as server, pytest.raises(InputError, match="request 0 failed: HTTP 500: no"):
        measure(THREE, server)


def test_a_policy_that_raised_ends_the_measurement(tmp_path):
    with served(Scripted(delay_s=0), tmp_path / "log") as server:
        server.log.write_text("ERROR ordering failed, this step goes on by arrival: ZeroDivisionError\n")
        with pytest.raises(InputError, match=r"the policy raised.*ZeroDivisionError"):
            measure(THREE, server)


def test_an_abort_drops_the_connection(tmp_path):
    script = Scripted(delay_s=5)

    async def aborted(url):
        from aiohttp import ClientSession

        async with ClientSession() as session:
            return await ask(session, url, completion_body(np.arange(5, dtype=np.int32), 1), abort_after_s=0.1)

    with served(script, tmp_path / "log") as server:
        answer = asyncio.run(aborted(server.url))
    assert answer.aborted
    assert not answer.error
    assert not answer.token_ns
    assert script.dropped == 1


def test_prompts_share_what_the_trace_shares():
    some = trace(
        *[(0, 546, 1, [499, 500])] * 2,
        (0, 1000, 1, [499, 501]),
        (0, 546, 1, [500, 499]),
        (0, 600, 1, [499, 500]),
        block_tokens=512,
    )
    ids = list(token_ids(some))
    hashes = chains(some, 16)
    for one in range(len(some)):
        assert len(ids[one]) == some.prompt_tokens[one]
        assert ids[one].min() >= FIRST_TOKEN
        assert ids[one].max() < FIRST_TOKEN + ORDINARY_TOKENS
        for other in range(len(some)):
            shared = sum(a == b for a, b in zip(hashes[one], hashes[other], strict=False))
            blocks = min(len(hashes[one]), len(hashes[other]))
            same = [
                np.array_equal(ids[one][: 16 * (block + 1)], ids[other][: 16 * (block + 1)]) for block in range(blocks)
            ]
            assert sum(same) == shared


@pytest.fixture
def starts(monkeypatch):
    """Let servers of the pool be scripted ones; return the settings of each start and stop, in order."""
    seen = []

    @contextmanager
    def server(serving, log):
        seen.append(("start", serving))
        with served(Scripted(delay_s=0), log) as found:
            yield RunningServer(serving, found.url, log)
        seen.append(("stop", serving))

    monkeypatch.setattr(pool, "running_server", server)
    return seen


def run_of(policy):
    versions = {"vllm": "0.32.0"}
    profile = "a6000-llama-3.1-8b-modelled"
    serving = Serving(Limits(2), policy)
    return run_stage.Run(serving, load_profile(profile), sha256_of_profile(profile), policy, "it", versions, "abc")


def test_measured_rows_say_what_they_are(tmp_path, starts):
    file, rows = tmp_path / "1.jsonl", tmp_path / "rows"
    header = {"workload": "w", "seed": 7, "parameters": {"cache_blocks": 90}}
    write_trace(trace((0, 40, 1, [1, 2, 3]), (10, 1_700, 1, range(107)), (20, 48, 3, [1, 2, 4]), header=header), file)
    with Servers(tmp_path, most_at_once=1) as servers:
        (refusal,) = run_stage.run_workload(run_of("lpm"), [file], rows, servers)
    assert "request 1 can never fit" in refusal
    assert starts[0][1].limits.cache_blocks == 90
    requests = read_requests(rows).to_pydict()
    assert requests["outcome"] == ["served", "unservable", "served"]
    assert requests["start_ns"] == [None, None, None], "no client knows when a request was scheduled"
    assert requests["hit_tokens"] == [16, None, 16]
    (row,) = read_runs(rows).to_pylist()
    assert (row["evidence"], row["backend"], row["seed"], row["refused"]) == ("measured", "vllm", 7, 1)
    assert (row["prompt_tokens"], row["hit_tokens"], row["computed_tokens"]) == (88, 32, 56)
    facts = json.loads((rows / MEASUREMENT).read_text())
    assert facts["device"] == "it"
    assert facts["runs"][0]["client_late_ms"]["worst"] >= 0
    assert set(facts["runs"][0]["lone_requests"]) == {"overhead_ms", "slowness"}
    assert facts["runs"][0]["steps"] == {"seconds": pytest.approx(2.2), "profile_seconds": 2}, "counted by the server"
    assert facts["runs"][0]["commit"] == "abc"
    arguments = facts["runs"][0]["arguments"]
    assert arguments[arguments.index("--num-gpu-blocks-override") + 1] == "90", "what the trace asks for"
    assert arguments[arguments.index("--model") + 1] == "tiny-llama", "and not where it lies here"
    assert facts["profile_sha256"] == hashlib.sha256(PROFILE_FILE.read_bytes()).hexdigest()

    assert run_stage.is_measured(run_of("lpm"), [file], rows)
    assert not run_stage.is_measured(run_of("fcfs"), [file], rows), "another policy"
    assert not run_stage.is_measured(run_of("lpm"), [file], tmp_path / "nothing")
    assert not run_stage.is_measured(replace(run_of("lpm"), profile_sha256="0"), [file], rows), "another profile"
    assert run_stage.is_measured(replace(run_of("lpm"), commit="def"), [file], rows), "a commit alone changes nothing"
    other = Path(shutil.copytree(rows, tmp_path / "other"))
    facts["runs"][0]["lone_requests"]["slowness"] = 1.0
    (other / MEASUREMENT).write_text(json.dumps(facts))
    assert not run_stage.is_measured(run_of("lpm"), [file], other), "edited"
    (other / "notes.txt").write_text("precious")
    with pytest.raises(InputError, match="has other files than measured rows"):
        run_stage.put_in_place(rows, other)
    (other / "notes.txt").unlink()
    for odd in ("[]", "null"):
        (other / MEASUREMENT).write_text(odd)
        assert not run_stage.is_measured(run_of("lpm"), [file], other)
    run_stage.put_in_place(rows, other)
    assert not rows.exists()
    rows = other
    assert run_stage.is_measured(run_of("lpm"), [file], rows), "what lay there is gone"
    write_trace(trace((0, 41, 1, [1, 2, 3]), header=header), file)
    assert not run_stage.is_measured(run_of("lpm"), [file], rows), "another trace"


def test_a_server_that_has_not_timed_its_steps_is_refused(tmp_path, starts, monkeypatch):
    file = tmp_path / "1.jsonl"
    write_trace(trace((0, 40, 1, [1, 2, 3]), header={"workload": "w", "seed": 7}), file)
    timed = run_of("lpm")
    timed = replace(timed, serving=replace(timed.serving, limits=Limits(90), plugin={"time_steps": True}))
    with Servers(tmp_path, most_at_once=1) as servers:
        run_stage.run_workload(timed, [file], tmp_path / "rows", servers)
    monkeypatch.setattr(Scripted, "times_steps", False)
    with Servers(tmp_path, most_at_once=1) as servers, pytest.raises(InputError, match="no times of its steps"):
        run_stage.run_workload(timed, [file], tmp_path / "more", servers)
    assert not (tmp_path / "more").exists()


def test_a_server_that_is_gone_is_named_with_its_log(tmp_path):
    with served(Scripted(), tmp_path / "log") as server:
        gone = replace(server, url=f"http://127.0.0.1:{free_port()}")
        for ask_it in (gone.metrics, gone.reset_prefix_cache):
            with pytest.raises(InputError, match="does not answer") as caught:
                ask_it()
            assert caught.value.file == server.log


def test_a_server_that_falls_silent_is_an_error_and_no_abort(tmp_path, monkeypatch):
    monkeypatch.setattr(wall_replay, "MOST_SILENT", aiohttp.ClientTimeout(total=None, sock_read=0.2))
    with served(Scripted(delay_s=5), tmp_path / "log") as server, pytest.raises(InputError, match="nothing came for"):
        measure(THREE, server)


@pytest.mark.parametrize("odd", ["mine", "{policy}", "{repeat}/{policy}/{policy}", "{repeat}/{policy}/{", "{reepat}"])
def test_rows_of_each_repeat_and_policy_have_a_folder_of_their_own(odd, root):
    refuse_patterns = runpy.run_path(str(root / "scripts/measure.py"))["refuse_patterns"]
    refuse_patterns("rows/{repeat}/{policy}", "waiting/{repeat}/{policy}")
    for patterns in ((odd, "waiting/{repeat}/{policy}"), ("rows/{repeat}/{policy}", odd)):
        with pytest.raises(InputError, match="is no pattern of folders"):
            refuse_patterns(*patterns)
    with pytest.raises(InputError, match="are the same folders"):
        refuse_patterns("rows/{repeat}/{policy}", "rows/./{repeat}/{policy}")


def test_servers_stay_up_as_many_as_may(tmp_path, starts):
    one, two, three = (Serving(Limits(90), policy) for policy in ("fcfs", "lpm", "fairway"))
    with Servers(tmp_path, most_at_once=2) as servers:
        assert servers.get(one) is servers.get(one)
        servers.get(two)
        servers.get(one)
        servers.get(three)
        assert starts == [("start", one), ("start", two), ("stop", two), ("start", three)]
    assert starts[4:] == [("stop", three), ("stop", one)] or starts[4:] == [("stop", one), ("stop", three)]


def test_lone_requests_tell_http_from_slow_steps():
    said_ms = [10.0, 30.0, 80.0, 250.0]
    found = fit(said_ms, [12.0 + 1.3 * said for said in said_ms])
    assert found.overhead_ms == pytest.approx(12.0)
    assert found.slowness == pytest.approx(1.3)


def test_a_run_whose_client_was_late_is_measured_again_and_at_last_refused(tmp_path, monkeypatch):
    def measured(late_ms):
        return types.SimpleNamespace(late_ns=np.array([round(late_ms * MS)] * 10), refused=np.zeros(10, dtype=bool))

    runs = iter([measured(80), measured(3), *[measured(80)] * 3])
    monkeypatch.setattr(run_stage, "measure", lambda *_: next(runs))
    _, discarded = run_stage._measured_in_time(THREE, None, "", tmp_path)
    assert discarded == 1
    with pytest.raises(InputError, match="more than 80 ms late, 3 times"):
        run_stage._measured_in_time(THREE, None, "", tmp_path)
